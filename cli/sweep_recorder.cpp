// SPDX-License-Identifier: Apache-2.0
#include "cli/sweep_recorder.hpp"

#include <cstdlib>
#include <utility>

#include "results/record/derive.hpp"

namespace batchsweep::cli {

SweepRecorder::SweepRecorder(results::ResultsStore& store, const Clock& clock, ProgressLine& progress)
    : store_(store), clock_(clock), progress_(progress), sequence_(store.next_sequence()) {
  const char* job = std::getenv("SLURM_JOB_ID");
  if (job != nullptr) slurm_job_id_ = job;
}

void SweepRecorder::note_started(const protocol::AttemptKey& key) {
  started_[key] = clock_.utc_now();
  store_.note_started(key.trial, key.repeat, key.attempt);
}

void SweepRecorder::append(const orchestrator::RecordAttempt& command) {
  results::AttemptRecord record = command.record;
  const auto started = started_.extract(command.key);
  record.trial.started_utc = format_utc(started ? started.mapped() : clock_.utc_now());
  record.trial.run_id = store_.run_id();
  record.trial.slurm_job_id = slurm_job_id_;
  record.trial.sequence = sequence_++;
  for (results::RankRecord& rank : record.ranks) rank.run_id = store_.run_id();
  results::derive(record);
  store_.append(record);
  pending_.push_back({command.key, std::move(record.trial)});
}

std::vector<orchestrator::Command> SweepRecorder::sync(orchestrator::Core& core, Instant now) {
  std::vector<orchestrator::Command> commands;
  if (pending_.empty()) return commands;
  store_.sync();
  for (const Pending& recorded : std::exchange(pending_, {})) {
    for (orchestrator::Command& command : core.handle(orchestrator::Recorded{recorded.key}, now)) {
      commands.push_back(std::move(command));
    }
    progress_.recorded(recorded.trial, core.progress());
  }
  return commands;
}

}  // namespace batchsweep::cli
