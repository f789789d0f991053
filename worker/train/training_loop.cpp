// SPDX-License-Identifier: Apache-2.0
#include "worker/train/training_loop.hpp"

#include <ATen/ATen.h>

#include "base/clock.hpp"
#include "worker/train/data/data_source.hpp"
#include "worker/train/data_parallel.hpp"
#include "worker/train/device.hpp"
#include "worker/train/optimizer_step.hpp"
#include "worker/train/trial_report.hpp"

namespace batchsweep::train {
namespace {

// What was worked through since the window opened.
struct Window {
  double samples = 0, tokens = 0, data_wait_s = 0;
};

double seconds_since(Instant start) { return to_seconds(system_clock().now() - start); }

Batch next_batch(DataSource& data, Window& window) {
  const Instant asked = system_clock().now();
  Batch batch = data.next();
  window.data_wait_s += seconds_since(asked);
  window.samples += static_cast<double>(batch.samples);
  window.tokens += static_cast<double>(batch.tokens);
  return batch;
}

}  // namespace

void train(const TrainingPlan& plan, const TrainingParts& parts, TrialReport& report) {
  Window window;
  const std::unique_ptr<StepTimer> timer = parts.device.make_step_timer();
  const auto step = [&] {
    timer->start();
    const StepResult result = parts.step.run([&] { return next_batch(parts.data, window); });
    timer->stop(result.loss, result.found_inf);
    report.add(timer->finished());
  };

  report.begin(results::Phase::kWarmup);
  for (std::int64_t i = 0; i < plan.warmup_steps; ++i) {
    step();
    parts.data_parallel.note_times();
  }
  report.add(timer->all_finished());
  parts.device.synchronize();
  report.add_peaks(parts.device.take_peaks());
  parts.ranks.wait_for_all();

  report.begin(results::Phase::kTimed);
  window = {};
  const Instant opened = system_clock().now();
  const auto too_short = [&] {
    return plan.min_time_s > 0 &&
           parts.ranks.as_first_says(seconds_since(opened) < plan.min_time_s);
  };
  for (std::int64_t i = 0; i < plan.timed_steps || too_short(); ++i) step();
  parts.device.synchronize();
  report.measured.window_s = seconds_since(opened);
  report.add(timer->all_finished());

  const PeakMemory steady = parts.device.take_peaks();
  report.add_peaks(steady);
  report.measured.steady_peak_allocated_bytes = steady.allocated_bytes;
  report.measured.steady_peak_reserved_bytes = steady.reserved_bytes;
  report.measured.samples = window.samples;
  if (window.tokens > 0) report.measured.tokens = window.tokens;
  report.measured.data_wait_s = window.data_wait_s;
  report.measured.comm_exposed_s = parts.data_parallel.times().exposed_s;
  report.measured.comm_overlapped_s = parts.data_parallel.times().overlapped_s;
  report.measured.comm_bytes_per_step = parts.data_parallel.bytes_per_step();
}

}  // namespace batchsweep::train
