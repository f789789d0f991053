// SPDX-License-Identifier: Apache-2.0
// What a trial process tells: it writes the events as they happen and keeps what was measured for
// the last one. Knows nothing of tensors.
#pragma once

#include <string>
#include <vector>

#include "worker/protocol/event_writer.hpp"
#include "worker/train/device.hpp"

namespace batchsweep::train {

class TrialReport {
 public:
  explicit TrialReport(protocol::EventWriter& writer) : writer_(writer) {}

  void hello(const protocol::Hello& hello);
  [[nodiscard]] bool said_hello() const { return said_hello_; }
  void begin(results::Phase phase);
  void tell(const protocol::Rendezvous& rendezvous) { writer_.write(rendezvous); }
  // Throws LossNotFinite at the first step whose loss is not.
  void add(const std::vector<FinishedStep>& steps);
  void add_peaks(const PeakMemory& peaks);

  // Exactly one of these, at the end.
  void complete();
  void end(protocol::Evidence evidence);

  [[nodiscard]] results::Phase phase() const { return phase_; }
  results::RankRecord measured;  // filled by whoever knows

 private:
  void finish();

  protocol::EventWriter& writer_;
  bool said_hello_ = false;
  results::Phase phase_ = results::Phase::kSetup;
  results::StepTimes steps_;
  double applied_steps_ = 0, skipped_steps_ = 0;
  PeakMemory peaks_;
};

}  // namespace batchsweep::train
