// SPDX-License-Identifier: Apache-2.0
#include "worker/train/schedule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "worker/train/trial_errors.hpp"

namespace batchsweep::train {
namespace {

double as_number(std::int64_t value) { return static_cast<double>(value); }

std::int64_t divide_up(std::int64_t value, std::int64_t by) { return (value + by - 1) / by; }

// Half a cosine wave from `from` to `to`, as `part` goes from 0 to 1.
double cosine_between(double from, double to, double part) {
  return to + (from - to) / 2 * (1 + std::cos(std::numbers::pi * part));
}

double constant(std::int64_t, std::int64_t) { return 1; }

double linear_warmup(std::int64_t step, std::int64_t total) {
  const std::int64_t warmup = divide_up(total, 10);
  return step < warmup ? as_number(step) / as_number(warmup) : 1;
}

double step_down(std::int64_t step, std::int64_t total) {
  return std::pow(0.1, as_number(step / divide_up(total, 3)));
}

double cosine(std::int64_t step, std::int64_t total) {
  return cosine_between(1, 0, as_number(step) / as_number(total));
}

double one_cycle(std::int64_t step, std::int64_t total) {
  constexpr double kRising = 0.3;  // of all steps
  constexpr double kFirst = 1.0 / 25, kLast = kFirst / 1e4;
  const double now = as_number(step), last = as_number(total - 1);
  const double top = kRising * as_number(total) - 1;
  return now <= top ? cosine_between(kFirst, 1, now / top)
                    : cosine_between(1, kLast, (now - top) / (last - top));
}

}  // namespace

Schedule::Formula Schedule::formula_of(const std::string& name) {
  if (name == "constant") return constant;
  if (name == "linear_warmup") return linear_warmup;
  if (name == "step") return step_down;
  if (name == "cosine") return cosine;
  if (name == "one_cycle") return one_cycle;
  throw TrialFailed(
      fmt::format("this batchsweep-trial has no schedule '{}': it has constant, linear_warmup, "
                  "step, cosine and one_cycle",
                  name));
}

Schedule::Schedule(const std::string& name, std::int64_t total_steps)
    : formula_(formula_of(name)), total_steps_(std::max<std::int64_t>(total_steps, 1)) {}

double Schedule::factor(std::int64_t step) const {
  return formula_(std::min(step, total_steps_ - 1), total_steps_);
}

}  // namespace batchsweep::train
