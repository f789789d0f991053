// SPDX-License-Identifier: Apache-2.0
#include "results/store/recorded.hpp"

#include <limits>
#include <map>
#include <set>
#include <span>
#include <unordered_map>

#include "base/error.hpp"
#include "results/store/journal.hpp"
#include "results/store/posix_file.hpp"
#include "results/store/rerun.hpp"
#include "results/store/results_file.hpp"
#include "results/store/run_table.hpp"
#include "results/store/table_reader.hpp"

namespace batchsweep::results {
namespace {

const std::set<std::string, std::less<>> kNeeded = {
    "run_id", "trial_id",    "repeat", "attempt",     "sequence",      "outcome",
    "reason", "software_id", "gpu",    "device_name", "driver_version"};

// Which software the attempts of each run ran under, and on which GPUs.
class MachineOfRun {
 public:
  void add_known(const SoftwareRecord& software) { known_.try_emplace(software.id, software); }
  void add_use(const TrialRecord& trial) {
    if (!trial.driver_version.empty())
      gpus_[trial.run_id].insert({trial.gpu, trial.device_name, trial.driver_version});
    if (trial.software_id.empty()) return;
    std::int64_t& last = uses_[trial.run_id][trial.software_id];
    last = std::max(last, trial.sequence);
  }
  [[nodiscard]] std::vector<RecordedGpu> gpus(std::span<const RunInfo> runs) const {
    std::set<RecordedGpu> all;
    for (const RunInfo& info : runs) {
      const auto run = gpus_.find(info.run_id);
      if (run != gpus_.end()) all.insert(run->second.begin(), run->second.end());
    }
    return {all.begin(), all.end()};
  }
  [[nodiscard]] std::vector<SoftwareRecord> newest_software(std::span<const RunInfo> runs) const {
    std::map<std::pair<std::string, bool>, std::pair<std::int64_t, const SoftwareRecord*>> best;
    for (const RunInfo& info : runs) {
      const auto run = uses_.find(info.run_id);
      if (run == uses_.end()) continue;
      for (const auto& [id, sequence] : run->second) {
        const auto software = known_.find(id);
        if (software == known_.end()) continue;
        auto& place = best[{software->second.program, !software->second.driver_version.empty()}];
        if (place.second == nullptr || sequence >= place.first)
          place = {sequence, &software->second};
      }
    }
    std::vector<SoftwareRecord> records;
    for (const auto& [kind, use] : best) records.push_back(*use.second);
    return records;
  }

 private:
  std::map<std::string, SoftwareRecord> known_;
  std::map<std::string, std::map<std::string, std::int64_t>> uses_;
  std::map<std::string, std::set<RecordedGpu>> gpus_;
};

void read_attempts(hid_t file, const char* table, std::int64_t before, AttemptIndex& index,
                   MachineOfRun& machine) {
  RecordReader<TrialRecord> reader(file, table,
                                   [](const std::string& name) { return kNeeded.contains(name); });
  TrialRecord trial;
  while (reader.table().next()) {
    for (std::size_t i = 0; i < reader.table().rows(); ++i) {
      reader.read(i, trial);
      if (trial.sequence >= before) continue;
      index.add(trial, 0);
      machine.add_use(trial);
    }
  }
}

void read_software(hid_t file, MachineOfRun& machine) {
  RecordReader<SoftwareRecord> reader(file, "software", [](const std::string&) { return true; });
  SoftwareRecord record;
  while (reader.table().next()) {
    for (std::size_t i = 0; i < reader.table().rows(); ++i) {
      reader.read(i, record);
      machine.add_known(record);
    }
  }
}

void read_file(const std::string& path, const OpenedResults& opened, std::int64_t before,
               Recorded& recorded, MachineOfRun& machine) {
  reading(path, [&] {
    const hid_t file = opened.file.get();
    recorded.runs = read_runs(file);
    read_software(file, machine);
    read_attempts(file, "trials", before, recorded.index, machine);
    read_attempts(file, "attempts", before, recorded.index, machine);
  });
}

void read_frames(JournalReader& reader, JournalFrame& frame, Recorded& recorded,
                 MachineOfRun& machine) {
  std::string run_id = recorded.runs.empty() ? "" : recorded.runs.back().run_id;
  while (reader.next(frame, Detail::kTrial)) {
    const TrialRecord& trial = frame.attempt.trial;
    switch (frame.kind) {
      case FrameKind::kHeader:
        break;
      case FrameKind::kRun:
        run_id = frame.run.run_id;
        merge_run(recorded.runs, frame.run);
        break;
      case FrameKind::kStarted:
        recorded.index.add_started(run_id, frame.started.trial_id, frame.started.repeat,
                                   frame.started.attempt);
        break;
      case FrameKind::kAttempt:
        ++recorded.journal_attempts;
        recorded.index.add(trial, 0);
        if (!frame.attempt.software.program.empty()) machine.add_known(frame.attempt.software);
        machine.add_use(trial);
        break;
    }
  }
  recorded.journal_bytes = reader.whole_bytes();
  recorded.torn_bytes = reader.torn_bytes();
}

}  // namespace

Recorded read_recorded(const std::string& path) {
  Recorded recorded;
  MachineOfRun machine;
  std::optional<OpenedResults> opened;
  if (file_exists(path)) {
    opened = open_results(path);
    recorded.has_file = true;
    recorded.file_id = opened->file_id;
    recorded.origin = opened->origin;
  }
  std::optional<JournalReader> journal;
  JournalFrame frame;
  std::int64_t before = std::numeric_limits<std::int64_t>::max();
  if (file_exists(path + ".journal")) {
    journal.emplace(path + ".journal");
    recorded.has_journal = journal->next(frame, Detail::kTrial);
  }
  if (recorded.has_journal) {
    if (opened) check_journal_belongs(frame.header, path, recorded.file_id);
    recorded.file_id = frame.header.file_id;
    recorded.origin = frame.header.origin;
    before = frame.header.first_sequence;
  }
  if (opened) read_file(path, *opened, before, recorded, machine);
  if (recorded.has_journal) read_frames(*journal, frame, recorded, machine);
  const std::span<const RunInfo> runs = recorded.runs;
  if (!runs.empty()) {
    const std::span<const RunInfo> counting = runs.subspan(first_that_counts(recorded.runs));
    recorded.software = machine.newest_software(counting);
    recorded.gpus = machine.gpus(counting);
  }
  return recorded;
}

}  // namespace batchsweep::results
