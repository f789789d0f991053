// SPDX-License-Identifier: Apache-2.0
// Rows for the tests of the report, as a sweep would record them. Short, and every number chosen.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "results/report/groups.hpp"

namespace batchsweep::results {

// A trial of resnet18 on "small" that completed.
inline TrialRecord sample_trial(std::int64_t batch) {
  static std::int64_t sequence = 0;
  TrialRecord trial;
  trial.run_id = "run-1";
  trial.gpu = trial.gpu_requested = "small";
  trial.device_name = "EPYC";
  trial.model = "resnet18";
  trial.precision = "fp32";
  trial.optimizer = "sgd";
  trial.data = "synthetic";
  trial.execution = "eager";
  trial.torch_version = "2.11.0";
  trial.batch_size = trial.global_batch_size = batch;
  trial.outcome = "completed";
  trial.applied_steps = 25;
  trial.timed_steps = 20;
  trial.samples = static_cast<double>(20 * batch);
  trial.memory_cap_bytes = 1000;
  trial.sequence = ++sequence;
  // Equal settings, equal id; tests that need another set it.
  trial.trial_id = fmt::format("{:016x}", batch);
  return trial;
}

inline TrialRecord out_of_memory(std::int64_t batch) {
  TrialRecord trial = sample_trial(batch);
  trial.outcome = "out_of_memory";
  trial.applied_steps.reset();
  trial.samples.reset();
  return trial;
}

inline TrialRecord with_rate(TrialRecord trial, double samples_per_s, double half_interval = 0) {
  trial.samples_per_s = samples_per_s;
  trial.samples_per_s_ci_low = samples_per_s - half_interval;
  trial.samples_per_s_ci_high = samples_per_s + half_interval;
  return trial;
}

// A rate as step time = t0 + t1 * batch gives it, within 1 %.
inline TrialRecord with_step_time(TrialRecord trial, double t0, double t1) {
  const double batch = static_cast<double>(trial.batch_size);
  const double rate = batch / (t0 + t1 * batch);
  return with_rate(std::move(trial), rate, 0.01 * rate);
}

inline Groups gather(const std::vector<TrialRecord>& trials, const AxisOrder& order = {}) {
  GroupBuilder builder;
  for (const TrialRecord& trial : trials) builder.add(trial);
  return std::move(builder).finish(order, [](const RowName&) { return true; });
}

}  // namespace batchsweep::results
