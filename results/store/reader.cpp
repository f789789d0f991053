// SPDX-License-Identifier: Apache-2.0
#include "results/store/reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "results/store/journal.hpp"
#include "results/store/lock_file.hpp"
#include "results/store/results_file.hpp"
#include "results/store/run_table.hpp"
#include "results/store/schema.hpp"
#include "results/store/table_reader.hpp"

namespace batchsweep::results {
namespace {

using Wanted = std::function<bool(const std::string&)>;

bool every_column(const std::string&) { return true; }

Wanted wanted(const std::vector<std::string_view>& columns) {
  if (columns.empty()) return every_column;
  return [names = std::set<std::string, std::less<>>(columns.begin(), columns.end())](
             const std::string& name) { return names.contains(name); };
}

std::string why_rows_are_missing(const std::string& path) {
  const LockView lock = look_at_lock(path);
  switch (lock.state) {
    case LockState::kHeld:
      return fmt::format(
          "{}: a sweep is running on it ({}): its newest rows are not in the file yet", path,
          name_of(lock.holder));
    case LockState::kUnsure:
      return fmt::format(
          "{}: a sweep is running on it, or was killed ({}): rows may be missing; \"batchsweep "
          "run\" goes on with a killed one",
          path, name_of(lock.holder));
    case LockState::kFree:
    case LockState::kDead:
      return fmt::format(
          "{}: a sweep was killed, and the journal beside the file holds rows that it lacks: run "
          "it again (batchsweep run) to take them over, and never delete {}.journal",
          path, path);
  }
  return "";
}

ResultsFile head_of(const std::string& path, const OpenedResults& opened) {
  ResultsFile file;
  file.path = path;
  file.file_id = opened.file_id;
  file.origin = opened.origin;
  file.sweep_name = opened.sweep_name;
  file.schema_version = opened.schema_version;
  file.runs = read_runs(opened.file.get());
  if (journal_beside(path, opened.file_id)) file.rows_missing = why_rows_are_missing(path);
  return file;
}

template <class Use>
std::uint64_t for_each_trial(hid_t file, const Wanted& columns, const Use& use) {
  RecordReader<TrialRecord> reader(file, "trials", columns);
  TrialRecord trial;
  clear_record(trial);
  while (reader.table().next()) {
    for (std::size_t i = 0; i < reader.table().rows(); ++i) {
      reader.read(i, trial);
      use(trial);
    }
  }
  return reader.table().total_rows();
}

// Rows of a table whose trial_id is the one asked for: only its column is read until a row matches.
template <class Record, class Use>
void for_rows_of_trial(hid_t file, const char* table, const std::string& trial_id, const Use& use) {
  RecordReader<Record> reader(file, table, every_column);
  const auto id_column = reader.table().find("trial_id");
  if (!id_column) return;
  std::string id;
  Record record;
  clear_record(record);
  while (reader.table().next()) {
    for (std::size_t i = 0; i < reader.table().rows(); ++i) {
      reader.table().text(*id_column, i, id);
      if (id != trial_id) continue;
      reader.read(i, record);
      use(record);
    }
  }
}

bool same_attempt(const TrialRecord& trial, const RankRecord& rank) {
  return trial.run_id == rank.run_id && trial.repeat == rank.repeat &&
         trial.attempt == rank.attempt;
}

void read_steps(hid_t file, AttemptRecord& attempt) {
  const auto first = static_cast<std::uint64_t>(attempt.trial.steps_offset.value_or(0));
  const std::uint64_t end =
      first + static_cast<std::uint64_t>(attempt.trial.steps_count.value_or(0));
  RecordReader<StepRow> reader(file, "steps", every_column);
  reader.table().seek(first);
  StepRow row;
  bool any_loss = false;
  for (std::uint64_t at = first; at < end && reader.table().next();) {
    for (std::size_t i = static_cast<std::size_t>(at - reader.table().first_row());
         i < reader.table().rows() && at < end; ++i, ++at) {
      reader.read(i, row);
      if (attempt.steps.empty() || attempt.steps.back().rank != row.rank) {
        attempt.steps.emplace_back().rank = row.rank;
        any_loss = false;
      }
      StepTimes& steps = attempt.steps.back();
      constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
      steps.warmup_steps += row.warmup ? 1 : 0;
      steps.time_s.push_back(row.time_s.value_or(kUnknown));
      any_loss = any_loss || row.loss.has_value();
      if (any_loss) {
        steps.loss.resize(steps.time_s.size() - 1, kUnknown);
        steps.loss.push_back(row.loss.value_or(kUnknown));
      }
    }
  }
}

template <class Record>
std::vector<Record> all_rows(hid_t file, const char* table) {
  RecordReader<Record> reader(file, table, every_column);
  std::vector<Record> rows;
  while (reader.table().next()) {
    for (std::size_t i = 0; i < reader.table().rows(); ++i) reader.read(i, rows.emplace_back());
  }
  return rows;
}

// What belongs to an attempt beside its row: ranks are there already.
void complete(hid_t file, const std::vector<SoftwareRecord>& software,
              const std::vector<HostRecord>& hosts, AttemptRecord& attempt) {
  read_steps(file, attempt);
  if (attempt.trial.log_text_row)
    attempt.log =
        read_one_text(file, "text", static_cast<std::uint64_t>(*attempt.trial.log_text_row));
  for (const SoftwareRecord& record : software) {
    if (record.id == attempt.trial.software_id) attempt.software = record;
  }
  for (const HostRecord& host : hosts) {
    const auto on_host = [&](const RankRecord& rank) { return rank.host_id == host.id; };
    const bool used = host.id == attempt.trial.host_id ||
                      std::any_of(attempt.ranks.begin(), attempt.ranks.end(), on_host);
    if (used) attempt.hosts.push_back(host);
  }
}

}  // namespace

ResultsFile read_results(const std::string& path, const std::vector<std::string_view>& columns) {
  const OpenedResults opened = open_results(path);
  return reading(path, [&] {
    ResultsFile file = head_of(path, opened);
    for_each_trial(opened.file.get(), wanted(columns),
                   [&](const TrialRecord& trial) { file.trials.push_back(trial); });
    return file;
  });
}

ResultsFile for_each_result(const std::string& path, const std::vector<std::string_view>& columns,
                            const std::function<void(const TrialRecord&)>& use) {
  const OpenedResults opened = open_results(path);
  return reading(path, [&] {
    ResultsFile file = head_of(path, opened);
    for_each_trial(opened.file.get(), wanted(columns), use);
    return file;
  });
}

std::vector<AttemptRecord> read_trial(const std::string& path, const std::string& trial_id) {
  const OpenedResults opened = open_results(path);
  (void)journal_beside(path, opened.file_id);
  return reading(path, [&] {
    const hid_t file = opened.file.get();
    std::vector<AttemptRecord> attempts;
    const auto add = [&](const TrialRecord& trial) { attempts.emplace_back().trial = trial; };
    for_rows_of_trial<TrialRecord>(file, "trials", trial_id, add);
    for_rows_of_trial<TrialRecord>(file, "attempts", trial_id, add);
    std::sort(attempts.begin(), attempts.end(), [](const AttemptRecord& a, const AttemptRecord& b) {
      return a.trial.sequence < b.trial.sequence;
    });
    if (attempts.empty()) return attempts;
    for_rows_of_trial<RankRecord>(file, "ranks", trial_id, [&](const RankRecord& rank) {
      for (AttemptRecord& attempt : attempts) {
        if (same_attempt(attempt.trial, rank)) attempt.ranks.push_back(rank);
      }
    });
    const auto software = all_rows<SoftwareRecord>(file, "software");
    const auto hosts = all_rows<HostRecord>(file, "hosts");
    for (AttemptRecord& attempt : attempts) complete(file, software, hosts, attempt);
    return attempts;
  });
}

}  // namespace batchsweep::results
