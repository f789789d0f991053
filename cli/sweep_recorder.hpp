// SPDX-License-Identifier: Apache-2.0
// The recording half of a run, the same for real and simulated sweeps: takes the core's RecordAttempt commands to the results file, and
// announces a trial only once its frame is durable.
#pragma once

#include <map>
#include <vector>

#include "base/clock.hpp"
#include "cli/progress_line.hpp"
#include "orchestrator/core.hpp"
#include "results/store/results_store.hpp"

namespace batchsweep::cli {

class SweepRecorder {
 public:
  SweepRecorder(results::ResultsStore& store, const Clock& clock, ProgressLine& progress);
  void note_started(const protocol::AttemptKey& key);
  void append(const orchestrator::RecordAttempt& command);
  [[nodiscard]] bool pending() const { return !pending_.empty(); }
  [[nodiscard]] std::size_t pending_count() const { return pending_.size(); }
  // Makes everything appended durable and tells the core so; commands that follow from it come back.
  [[nodiscard]] std::vector<orchestrator::Command> sync(orchestrator::Core& core, Instant now);

 private:
  struct Pending {
    protocol::AttemptKey key;
    results::TrialRecord trial;
  };
  results::ResultsStore& store_;
  const Clock& clock_;
  ProgressLine& progress_;
  std::int64_t sequence_;
  std::string slurm_job_id_;  // "" outside of Slurm
  std::map<protocol::AttemptKey, Utc> started_;
  std::vector<Pending> pending_;
};

}  // namespace batchsweep::cli
