// SPDX-License-Identifier: Apache-2.0
#include "worker/train/training_loop.hpp"

#include <ATen/ATen.h>

#include "base/clock.hpp"
#include "worker/train/data/data_source.hpp"
#include "worker/train/device.hpp"
#include "worker/train/models/model.hpp"
#include "worker/train/optimizer.hpp"
#include "worker/train/precision_policy.hpp"
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

// One micro-step: forward in the trial's precision, backward into the gradients.
at::Tensor accumulate_gradients(const TrainingParts& with, const Batch& batch,
                                std::int64_t micro_steps) {
  at::Tensor loss;
  {
    const Autocast autocast = with.precision.for_forward();
    loss = with.model.loss(batch) / static_cast<double>(micro_steps);
  }
  loss.backward();
  return loss.detach();
}

// One optimizer step. Returns its loss, which a GPU may not have computed yet.
at::Tensor optimizer_step(const TrainingPlan& plan, const TrainingParts& with, Window& window) {
  with.optimizer.zero_grad();
  at::Tensor loss;
  for (std::int64_t micro_step = 0; micro_step < plan.gradient_accumulation_steps; ++micro_step) {
    const Batch batch = next_batch(with.data, window);
    const at::Tensor part = accumulate_gradients(with, batch, plan.gradient_accumulation_steps);
    loss = loss.defined() ? loss + part : part;
  }
  with.optimizer.step();
  return loss;
}

}  // namespace

void train(const TrainingPlan& plan, const TrainingParts& parts, TrialReport& report) {
  Window window;
  double applied = 0;
  const std::unique_ptr<StepTimer> timer = parts.device.make_step_timer();
  const auto step = [&] {
    timer->start();
    const at::Tensor loss = optimizer_step(plan, parts, window);
    timer->stop(loss);
    report.measured.applied_steps = ++applied;
    report.measured.skipped_steps = 0;  // only a loss scaler skips steps
    report.add(timer->finished());
  };

  report.begin(results::Phase::kWarmup);
  for (std::int64_t i = 0; i < plan.warmup_steps; ++i) step();
  report.add(timer->all_finished());
  parts.device.synchronize();
  report.add_peaks(parts.device.take_peaks());

  report.begin(results::Phase::kTimed);
  window = {};
  const Instant opened = system_clock().now();
  for (std::int64_t i = 0; i < plan.timed_steps || seconds_since(opened) < plan.min_time_s; ++i)
    step();
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
}

}  // namespace batchsweep::train
