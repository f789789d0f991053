// SPDX-License-Identifier: Apache-2.0
#include "results/report/verdicts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "results/report/statistics.hpp"

namespace batchsweep::results {
namespace {

constexpr double k95 = 1.96;  // half width of a 95 % interval in standard errors

// Step times follow each other with a lag-1 correlation of 0.2 to 0.4, which an interval for
// independent values does not know: wider by sqrt((1 + 0.3) / (1 - 0.3)).
constexpr double kCorrelated = 1.363;

// One batch that fits: samples a step and the time they take. The median step, because other
// programs on the host only ever slow steps down; from the rate of the window where no step says.
struct Timing {
  std::int64_t batch = 0;
  double samples = 0, time_s = 0;
  double spread = 0;  // relative standard error of time and rate
  [[nodiscard]] double rate() const { return samples / time_s; }
};

std::vector<Timing> timings_up_to(const std::vector<BatchPoint>& points, std::int64_t largest) {
  std::vector<Timing> timings;
  for (const BatchPoint& point : points) {
    if (point.batch > largest || !point.fits() || point.global_batch <= 0) continue;
    if (point.samples_per_s.value_or(0) <= 0) continue;
    Timing timing;
    timing.batch = point.batch;
    timing.samples = static_cast<double>(point.global_batch);
    double within = kUnknownSpread;
    if (point.step_time_low_s && point.step_time_high_s && point.step_time_s.value_or(0) > 0) {
      timing.time_s = *point.step_time_s;
      within = kCorrelated * (*point.step_time_high_s - *point.step_time_low_s) /
               (2 * k95 * timing.time_s);
    } else {
      timing.time_s = timing.samples / *point.samples_per_s;
      if (point.rate_low && point.rate_high)
        within = (*point.rate_high - *point.rate_low) / (2 * k95 * *point.samples_per_s);
    }
    timing.spread = std::hypot(within, kProcessSpread);
    timings.push_back(timing);
  }
  return timings;
}

// The growth of the rate over the last doubling that was measured: from the batch nearest to half
// of the largest (between a third and two thirds of it).
void measure_last_doubling(const std::vector<Timing>& timings, Verdict& verdict) {
  const Timing& last = timings.back();
  const Timing* half = nullptr;
  for (const Timing& timing : timings) {
    const double share = timing.samples / last.samples;
    if (share < 1.0 / 3 || share > 2.0 / 3) continue;
    if (!half || std::abs(share - 0.5) < std::abs(half->samples / last.samples - 0.5))
      half = &timing;
  }
  if (!half) return;
  const double ratio = last.rate() / half->rate();
  const double error = k95 * ratio * std::hypot(last.spread, half->spread);
  verdict.measured_from_batch = half->batch;
  verdict.measured_gain = {.value = ratio - 1, .low = ratio - 1 - error, .high = ratio - 1 + error};
}

// Gain of `times` as many samples a step over `samples`, where the step time is the line t0 + t1 n:
// g = times (t0 + t1 n) / (t0 + times t1 n) - 1, its error by first-order propagation.
Gain gain_on_line(const Line& line, double samples, double times) {
  const double now = line.at(samples), then = line.at(times * samples);
  const double gain = times * now / then - 1;
  const double by_intercept = times * (times - 1) * line.slope * samples / (then * then);
  const double by_slope = -times * (times - 1) * line.intercept * samples / (then * then);
  const double variance = by_intercept * by_intercept * line.intercept_variance +
                          by_slope * by_slope * line.slope_variance +
                          2 * by_intercept * by_slope * line.covariance;
  const double error = k95 * std::sqrt(std::max(variance, 0.0));
  return {.value = gain, .low = gain - error, .high = gain + error};
}

// Step time against samples, through the larger half of the batches but at least three. Where the
// line misses them by more than their noise, the misfit is taken for the noise.
std::optional<Line> fit_step_time(std::span<const Timing> timings) {
  std::vector<Observation> observations;
  for (const Timing& timing : timings)
    observations.push_back({timing.samples, timing.time_s, timing.spread * timing.time_s});
  std::optional<Line> line = fit_line(observations);
  if (!line || observations.size() < 3) return line;
  double misfit = 0;
  for (const Observation& o : observations) {
    const double miss = (o.y - line->at(o.x)) / o.sigma;
    misfit += miss * miss;
  }
  const double inflation = std::max(1.0, misfit / static_cast<double>(observations.size() - 2));
  line->intercept_variance *= inflation;
  line->slope_variance *= inflation;
  line->covariance *= inflation;
  return line;
}

// How many times the batch twice the memory holds: the fixed part is paid once, so twice or more.
// Of the line only the ratio is used: the batch at which it meets the limit is an extrapolation.
double growth_of_batch(const std::optional<MemoryFit>& memory) {
  if (!memory || !memory->limit_bytes) return 2;
  const std::optional<double> now = memory->batch_at(*memory->limit_bytes);
  const std::optional<double> then = memory->batch_at(2 * *memory->limit_bytes);
  return now && then && *now > 0 && *then > *now ? *then / *now : 2;
}

void predict_double_memory(std::span<const Timing> timings, const std::optional<MemoryFit>& memory,
                           Verdict& verdict) {
  const std::size_t used =
      std::min(timings.size(), std::max<std::size_t>(3, (timings.size() + 1) / 2));
  const std::span<const Timing> larger = timings.last(used);
  std::optional<Line> line = fit_step_time(larger);
  if (!line) return;
  const Timing& last = timings.back();
  if (line->slope <= 0) {  // all overhead, as far as the noise lets one see: the time stays
    line->slope = 0;
    line->intercept = last.time_s;
  }
  const double batch = static_cast<double>(last.batch);
  const double times = growth_of_batch(memory);
  verdict.points_used = static_cast<std::int64_t>(used);
  verdict.batch_at_double_memory = std::floor(times * batch * (1 + 1e-9));
  verdict.predicted_gain = gain_on_line(*line, last.samples, times);
  if (line->slope <= 0) return;
  verdict.asymptotic_samples_per_s = 1 / line->slope;
  verdict.reached_share = last.samples / line->at(last.samples) * line->slope;
}

// What the numbers say, in the order of their weight: measured saturation needs no model.
void decide(Verdict& verdict) {
  const std::optional<Gain>& measured = verdict.measured_gain;
  const std::optional<Gain>& predicted = verdict.predicted_gain;
  if (measured && measured->high < kWorthwhileGain) {
    verdict.limit = Limit::kCompute;
    verdict.reason = fmt::format("the rate levelled off from batch {} to {}",
                                 *verdict.measured_from_batch, *verdict.max_batch_fit);
    return;
  }
  if (!predicted) {
    verdict.reason = "no line fits the step times";
    return;
  }
  if (predicted->high < kWorthwhileGain) {
    verdict.limit = Limit::kCompute;
    verdict.reason =
        fmt::format("a larger batch would bring less than {:.0f} %", kWorthwhileGain * 100);
  } else if (measured && measured->low <= 0) {
    verdict.reason = fmt::format("growth from batch {} to {} is within the noise",
                                 *verdict.measured_from_batch, *verdict.max_batch_fit);
  } else if (predicted->value < kWorthwhileGain || predicted->low <= 0) {
    verdict.reason =
        fmt::format("the gain is not clearly above or below {:.0f} %", kWorthwhileGain * 100);
  } else if (!verdict.boundary_seen) {
    verdict.reason = fmt::format("the rate still grows, but the limit was not reached at batch {}",
                                 *verdict.max_batch_fit);
  } else {
    verdict.limit = Limit::kMemory;
    verdict.reason =
        fmt::format("the rate still grows at batch {}, where memory ends", *verdict.max_batch_fit);
  }
}

}  // namespace

Verdict verdict(const Groups& groups, const LargestBatch& frontier,
                const std::optional<MemoryFit>& memory) {
  Verdict verdict;
  verdict.group = frontier.group;
  verdict.max_batch_fit = frontier.max_batch_fit;
  verdict.boundary_seen = frontier.boundary_seen();
  if (!frontier.max_batch_fit) {
    if (frontier.min_batch_oom) verdict.limit = Limit::kMemory;
    verdict.reason = frontier.remark;
    return verdict;
  }
  if (frontier.min_batch_oom && !verdict.boundary_seen) {
    verdict.reason = frontier.remark;
    return verdict;
  }
  const std::vector<Timing> timings =
      timings_up_to(groups.groups[frontier.group].points, *frontier.max_batch_fit);
  if (timings.empty() || timings.back().batch != *frontier.max_batch_fit) {
    verdict.reason = fmt::format("no rate at batch {}", *frontier.max_batch_fit);
    return verdict;
  }
  if (timings.size() < 2) {
    verdict.reason = "only one batch fits: how the rate grows is not known";
    return verdict;
  }
  measure_last_doubling(timings, verdict);
  predict_double_memory(timings, memory, verdict);
  decide(verdict);
  return verdict;
}

}  // namespace batchsweep::results
