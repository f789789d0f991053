// SPDX-License-Identifier: Apache-2.0
#include "results/record/derive.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "results/record/outcome.hpp"
#include "results/record/step_statistics.hpp"
#include "sweeps/gpu_catalogue.hpp"
#include "sweeps/model_table.hpp"

namespace batchsweep::results {
namespace {

using Combine = std::function<double(double, double)>;

// Over all ranks; absent as soon as one rank lacks it: a sum or a maximum over some ranks would
// pass for that over all.
Number over_ranks(const std::vector<RankRecord>& ranks, Number RankRecord::*member,
                  const Combine& combine) {
  if (ranks.empty() || !(ranks.front().*member)) return std::nullopt;
  double result = *(ranks.front().*member);
  for (std::size_t i = 1; i < ranks.size(); ++i) {
    if (!(ranks[i].*member)) return std::nullopt;
    result = combine(result, *(ranks[i].*member));
  }
  return result;
}

double larger(double a, double b) { return std::max(a, b); }
double smaller(double a, double b) { return std::min(a, b); }
double sum(double a, double b) { return a + b; }

// A peak counts although another rank died before it could tell its own.
Number known_maximum(const std::vector<RankRecord>& ranks, Number RankRecord::*member) {
  Number result;
  for (const RankRecord& rank : ranks) {
    const Number& value = rank.*member;
    if (value) result = result ? std::max(*result, *value) : *value;
  }
  return result;
}

void set_if_known(Number& column, const Number& value) {
  if (value) column = value;
}

void derive_memory(TrialRecord& trial, const std::vector<RankRecord>& ranks) {
  set_if_known(trial.peak_allocated_bytes, known_maximum(ranks, &RankRecord::peak_allocated_bytes));
  set_if_known(trial.peak_reserved_bytes, known_maximum(ranks, &RankRecord::peak_reserved_bytes));
  set_if_known(trial.peak_device_used_bytes,
               known_maximum(ranks, &RankRecord::peak_device_used_bytes));
  set_if_known(trial.steady_peak_allocated_bytes,
               known_maximum(ranks, &RankRecord::steady_peak_allocated_bytes));
  set_if_known(trial.steady_peak_reserved_bytes,
               known_maximum(ranks, &RankRecord::steady_peak_reserved_bytes));
  set_if_known(trial.rss_peak_bytes, known_maximum(ranks, &RankRecord::rss_peak_bytes));
}

// Of the rank whose evidence decided; the verdict may have filled them already.
void derive_guilty_rank(TrialRecord& trial, const std::vector<RankRecord>& ranks) {
  if (!trial.guilty_rank) return;
  for (const RankRecord& rank : ranks) {
    if (static_cast<double>(rank.rank) != *trial.guilty_rank) continue;
    if (!trial.oom_requested_bytes) trial.oom_requested_bytes = rank.oom_requested_bytes;
    if (!trial.oom_allocated_bytes) trial.oom_allocated_bytes = rank.oom_allocated_bytes;
    if (!trial.oom_reserved_bytes) trial.oom_reserved_bytes = rank.oom_reserved_bytes;
    if (!trial.oom_limit_bytes) trial.oom_limit_bytes = rank.oom_limit_bytes;
    if (!trial.exit_code) trial.exit_code = rank.exit_code;
    if (!trial.signal) trial.signal = rank.signal;
  }
}

void derive_counts(TrialRecord& trial, const std::vector<RankRecord>& ranks) {
  set_if_known(trial.num_parameters, over_ranks(ranks, &RankRecord::num_parameters, larger));
  set_if_known(trial.applied_steps, over_ranks(ranks, &RankRecord::applied_steps, smaller));
  set_if_known(trial.skipped_steps, over_ranks(ranks, &RankRecord::skipped_steps, larger));
  set_if_known(trial.samples, over_ranks(ranks, &RankRecord::samples, sum));
  set_if_known(trial.tokens, over_ranks(ranks, &RankRecord::tokens, sum));
  set_if_known(trial.window_s, over_ranks(ranks, &RankRecord::window_s, larger));
  set_if_known(trial.setup_s, over_ranks(ranks, &RankRecord::setup_s, larger));
  set_if_known(trial.cpu_threads, over_ranks(ranks, &RankRecord::cpu_threads, larger));
  const double count = static_cast<double>(ranks.size());
  const auto mean = [&](Number RankRecord::*member) {
    const Number total = over_ranks(ranks, member, sum);
    return total ? Number(*total / count) : std::nullopt;
  };
  set_if_known(trial.loss_first, mean(&RankRecord::loss_first));
  set_if_known(trial.loss_last, mean(&RankRecord::loss_last));
}

const RankRecord* slowest_rank(const std::vector<RankRecord>& ranks) {
  const RankRecord* slowest = nullptr;
  for (const RankRecord& rank : ranks) {
    if (!rank.window_s) return nullptr;
    if (slowest == nullptr || *rank.window_s > *slowest->window_s) slowest = &rank;
  }
  return slowest;
}

std::vector<double> timed_steps_of(const AttemptRecord& attempt, std::int64_t rank) {
  std::vector<double> times;
  for (const StepTimes& steps : attempt.steps) {
    if (steps.rank != rank) continue;
    for (std::size_t i = static_cast<std::size_t>(std::max<std::int64_t>(steps.warmup_steps, 0));
         i < steps.time_s.size(); ++i) {
      if (std::isfinite(steps.time_s[i])) times.push_back(steps.time_s[i]);
    }
  }
  return times;
}

void derive_rates(TrialRecord& trial) {
  if (!trial.window_s || !(*trial.window_s > 0)) return;
  if (trial.samples) {
    trial.samples_per_s = *trial.samples / *trial.window_s;
    trial.samples_per_s_per_gpu =
        *trial.samples_per_s / static_cast<double>(std::max<std::int64_t>(trial.world_size, 1));
  }
  if (trial.tokens) trial.tokens_per_s = *trial.tokens / *trial.window_s;
}

void derive_step_times(AttemptRecord& attempt) {
  TrialRecord& trial = attempt.trial;
  const RankRecord* slowest = slowest_rank(attempt.ranks);
  if (slowest == nullptr) return;
  trial.data_wait_s = slowest->data_wait_s;
  set_if_known(trial.comm_exposed_s, slowest->comm_exposed_s);
  set_if_known(trial.comm_overlapped_s, slowest->comm_overlapped_s);
  set_if_known(trial.comm_bytes_per_step, slowest->comm_bytes_per_step);
  const std::vector<double> times = timed_steps_of(attempt, slowest->rank);
  if (times.empty()) return;
  trial.step_time_median_s = quantile(times, 0.5);
  if (const auto median = interval_of_median(times)) {
    trial.step_time_median_ci_low_s = median->low;
    trial.step_time_median_ci_high_s = median->high;
  }
  trial.step_time_p95_s = quantile(times, 0.95);
  trial.step_time_std_s = standard_deviation(times);
  const auto interval = relative_interval_of_mean(times);
  if (!interval || !trial.samples_per_s) return;
  trial.samples_per_s_ci_low = *trial.samples_per_s / (1 + *interval);
  if (*interval < 1) trial.samples_per_s_ci_high = *trial.samples_per_s / (1 - *interval);
}

Number peak_flops(const sweeps::GpuType& gpu, const std::string& precision) {
  if (precision == "fp32") return gpu.fp32_flops;
  if (precision == "tf32") return gpu.tf32_flops;
  if (precision == "fp16") return gpu.fp16_flops;
  if (precision == "bf16" || precision == "bf16-true") return gpu.bf16_flops;
  return std::nullopt;
}

// The model table's work holds for its default input only.
bool has_default_input(const TrialRecord& trial, const sweeps::ModelInfo& model) {
  constexpr double kDefaultSequenceLength = 128;
  switch (model.domain) {
    case sweeps::Domain::kImage: {
      const auto side = static_cast<double>(model.image_size);
      return trial.image_height == side && trial.image_width == side;
    }
    case sweeps::Domain::kText:
      return trial.sequence_length == kDefaultSequenceLength;
  }
  return false;
}

void derive_mfu(TrialRecord& trial) {
  if (trial.emulated || trial.origin != to_text(sweeps::Origin::kMeasured) ||
      !trial.samples_per_s_per_gpu)
    return;
  const sweeps::GpuType* gpu = sweeps::find_gpu(trial.gpu);
  const sweeps::ModelInfo* model = sweeps::find_model(trial.model);
  if (gpu == nullptr || model == nullptr || !model->multiply_adds_per_sample ||
      !has_default_input(trial, *model))
    return;
  const Number peak = peak_flops(*gpu, trial.precision);
  if (!peak || !(*peak > 0)) return;
  constexpr double kFlopPerMultiplyAdd = 2, kTrainingOverForward = 3;
  const double work = kFlopPerMultiplyAdd * kTrainingOverForward * *model->multiply_adds_per_sample;
  trial.mfu = *trial.samples_per_s_per_gpu * work / *peak;
}

// Steps that all ranks finished. Unknown where a rank's end is (its agent was lost), or where
// events of steps were dropped.
std::optional<std::int64_t> steps_of_all(const AttemptRecord& attempt) {
  std::optional<std::size_t> least;
  for (const StepTimes& steps : attempt.steps)
    least = std::min(least.value_or(steps.time_s.size()), steps.time_s.size());
  for (const RankRecord& rank : attempt.ranks) {
    if (rank.events_dropped.value_or(0) > 0) return std::nullopt;
    const auto told = [&](const StepTimes& steps) { return steps.rank == rank.rank; };
    if (std::ranges::any_of(attempt.steps, told)) continue;
    if (rank.outcome.empty()) return std::nullopt;
    // A program that completes may keep its steps to itself.
    if (rank.outcome != to_text(Outcome::kCompleted)) least = 0;
  }
  return least ? std::optional(static_cast<std::int64_t>(*least)) : std::nullopt;
}

// What was asked for stands in the row already, and did run where the trial completed.
void derive_step_counts(AttemptRecord& attempt) {
  if (attempt.ranks.empty()) return;
  const std::optional<std::int64_t> ran = steps_of_all(attempt);
  if (!ran) {
    if (attempt.trial.outcome == to_text(Outcome::kCompleted)) return;
    attempt.trial.warmup_steps.reset();
    attempt.trial.timed_steps.reset();
    return;
  }
  std::int64_t warmup = 0;
  for (const StepTimes& steps : attempt.steps) warmup = std::max(warmup, steps.warmup_steps);
  warmup = std::min(warmup, *ran);
  attempt.trial.warmup_steps = static_cast<double>(warmup);
  attempt.trial.timed_steps = static_cast<double>(*ran - warmup);
}

}  // namespace

void derive(AttemptRecord& attempt) {
  derive_memory(attempt.trial, attempt.ranks);
  derive_guilty_rank(attempt.trial, attempt.ranks);
  derive_counts(attempt.trial, attempt.ranks);
  derive_step_counts(attempt);
  derive_rates(attempt.trial);
  derive_step_times(attempt);
  derive_mfu(attempt.trial);
}

}  // namespace batchsweep::results
