// SPDX-License-Identifier: Apache-2.0
// What `run` shows on standard error: on a terminal one live line, elsewhere a plain line per trial once it is recorded.
#pragma once

#include <string>

#include "base/clock.hpp"
#include "orchestrator/core.hpp"
#include "results/record/trial_record.hpp"

namespace batchsweep::cli {

class ProgressLine {
 public:
  explicit ProgressLine(Instant start);
  // Call once the record is durable.
  void recorded(const results::TrialRecord& trial, const orchestrator::Progress& progress);
  void say(const std::string& text);  // a line of its own
  // Redraws the live line, at most five times a second; nothing where there is no terminal.
  void refresh(const orchestrator::Progress& progress, Instant now);
  void finish();

 private:
  void clear();
  bool terminal_;
  bool drawn_ = false;
  Instant start_, last_{};
  std::int64_t done_at_start_ = -1;
};

// "completed  812 samples/s, peak 1.2 GiB" or the outcome with its reason: what one line tells of a trial.
[[nodiscard]] std::string describe_ending(const results::TrialRecord& trial);

}  // namespace batchsweep::cli
