// SPDX-License-Identifier: Apache-2.0
#include "worker/train/trial_report.hpp"

#include <sys/resource.h>

#include <cmath>

#include "worker/train/trial_errors.hpp"

namespace batchsweep::train {
namespace {

double peak_resident_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024;
}

}  // namespace

void TrialReport::hello(const protocol::Hello& hello) {
  said_hello_ = true;
  writer_.write(hello);
}

void TrialReport::begin(results::Phase phase) {
  phase_ = phase;
  if (phase == results::Phase::kTimed)
    steps_.warmup_steps = static_cast<std::int64_t>(steps_.time_s.size());
  writer_.write(protocol::PhaseBegan{phase});
}

void TrialReport::add(const std::vector<FinishedStep>& steps) {
  for (const FinishedStep& step : steps) {
    steps_.time_s.push_back(step.time_s);
    steps_.loss.push_back(step.loss);
    ++(step.applied ? applied_steps_ : skipped_steps_);
    if (phase_ == results::Phase::kWarmup) ++steps_.warmup_steps;
    const auto number = static_cast<std::int64_t>(steps_.time_s.size());
    writer_.write(protocol::StepDone{.step = number, .time_s = step.time_s, .loss = step.loss});
    if (!std::isfinite(step.loss)) throw LossNotFinite(number, step.loss);
  }
}

void TrialReport::add_peaks(const PeakMemory& peaks) { peaks_ = highest(peaks_, peaks); }

void TrialReport::complete() {
  finish();
  writer_.write(protocol::Result{.measured = measured, .steps = steps_});
}

void TrialReport::end(protocol::Evidence evidence) {
  finish();
  evidence.phase = evidence.reason == results::Reason::kLaunch ? results::Phase::kLaunch : phase_;
  if (!evidence.step && !steps_.time_s.empty())
    evidence.step = static_cast<std::int64_t>(steps_.time_s.size());
  writer_.write(protocol::Ending{.evidence = evidence, .measured = measured, .steps = steps_});
}

void TrialReport::finish() {
  measured.peak_allocated_bytes = peaks_.allocated_bytes;
  measured.peak_reserved_bytes = peaks_.reserved_bytes;
  measured.peak_device_used_bytes = peaks_.device_used_bytes;
  measured.rss_peak_bytes = peak_resident_bytes();
  if (!steps_.loss.empty()) {
    measured.applied_steps = applied_steps_;
    measured.skipped_steps = skipped_steps_;
    measured.loss_first = steps_.loss.front();
    measured.loss_last = steps_.loss.back();
  }
  measured.events_dropped = static_cast<double>(writer_.dropped());
}

}  // namespace batchsweep::train
