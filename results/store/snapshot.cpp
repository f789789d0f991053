// SPDX-License-Identifier: Apache-2.0
#include "results/store/snapshot.hpp"

#include <algorithm>
#include <limits>

#include "results/store/posix_file.hpp"
#include "results/store/results_file.hpp"
#include "results/store/run_table.hpp"
#include "results/store/table_reader.hpp"

namespace batchsweep::results {
namespace {

constexpr std::size_t kStepChunkRows = 16384;
// Attributes of the file; see docs/file_format.md.
constexpr const char* kFirstSequence = "journal_first_sequence";
constexpr const char* kRanksBefore = "ranks_before_journal";
constexpr const char* kStepsBefore = "steps_before_journal";

bool every_column(const std::string&) { return true; }

template <class Record, class Use>
void for_each_row(hid_t file, const char* table, std::uint64_t most, const Use& use) {
  RecordReader<Record> reader(file, table, every_column);
  Record record;
  if constexpr (
      requires { record.id; } || requires { record.run_id; })
    clear_record(record);
  for (std::uint64_t row = 0; row < most && reader.table().next();) {
    for (std::size_t i = 0; i < reader.table().rows() && row < most; ++i, ++row) {
      reader.read(i, record);
      use(record);
    }
  }
}

std::uint64_t count_attribute(hid_t file, const char* name) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, read_integer_attribute(file, name)));
}

}  // namespace

StepsWriter::StepsWriter(hid_t file)
    : chunk_(ColumnTable::of<StepRow>()), writer_(file, "steps", chunk_, kStepChunkRows) {}

void StepsWriter::append(const StepRow& row) {
  chunk_.append(row);
  ++rows_;
  if (chunk_.rows() == kStepChunkRows) finish();
}

void StepsWriter::finish() {
  if (chunk_.rows() == 0) return;
  writer_.write_all(chunk_);
  chunk_.clear();
}

Snapshot::Snapshot(const std::string& path)
    : file_(create_h5_in_memory()),
      attempts_(ColumnTable::of<TrialRecord>()),
      ranks_(ColumnTable::of<RankRecord>()),
      steps_(file_.get()) {
  header_.first_sequence = std::numeric_limits<std::int64_t>::max();
  std::optional<JournalReader> journal;
  JournalFrame frame;
  if (file_exists(path + ".journal")) {
    journal.emplace(path + ".journal");
    has_journal_ = journal->next(frame, Detail::kAll);
    if (has_journal_) header_ = frame.header;
  }
  if (file_exists(path)) read_previous(path);
  ranks_before_journal_ = ranks_.rows();
  steps_before_journal_ = steps_.rows();
  if (has_journal_) read_journal(*journal, frame);
}

void Snapshot::read_previous(const std::string& path) {
  const OpenedResults opened = open_results(path);
  if (has_journal_) check_journal_belongs(header_, path, opened.file_id);
  reading(path, [&] {
    const hid_t file = opened.file.get();
    if (!has_journal_) {
      header_ = {.file_id = opened.file_id,
                 .origin = opened.origin,
                 .sweep_name = opened.sweep_name,
                 .first_sequence = header_.first_sequence};
    }
    const std::vector<std::string> texts = read_texts(file, "text");
    for (const RunInfo& run : read_runs(file)) add_run(run);
    read_previous_attempts(file, "trials", texts);
    read_previous_attempts(file, "attempts", texts);
    // A snapshot of the same journal holds what the journal holds: only what stood there before is
    // kept.
    constexpr std::uint64_t kAll = std::numeric_limits<std::uint64_t>::max();
    const bool same_journal =
        H5Aexists(file, kFirstSequence) > 0 &&
        read_integer_attribute(file, kFirstSequence) == header_.first_sequence;
    const std::uint64_t ranks = same_journal ? count_attribute(file, kRanksBefore) : kAll;
    const std::uint64_t steps = same_journal ? count_attribute(file, kStepsBefore) : kAll;
    for_each_row<RankRecord>(file, "ranks", ranks,
                             [&](const RankRecord& rank) { ranks_.append(rank); });
    for_each_row<StepRow>(file, "steps", steps, [&](const StepRow& step) { steps_.append(step); });
    AttemptRecord provenance;
    for_each_row<SoftwareRecord>(file, "software", kAll, [&](const SoftwareRecord& software) {
      provenance.software = software;
      add_provenance(provenance);
    });
    provenance.software = {};
    for_each_row<HostRecord>(file, "hosts", kAll, [&](const HostRecord& host) {
      provenance.hosts = {host};
      add_provenance(provenance);
    });
  });
}

void Snapshot::read_previous_attempts(hid_t file, const char* table,
                                      const std::vector<std::string>& texts) {
  for_each_row<TrialRecord>(file, table, std::numeric_limits<std::uint64_t>::max(),
                            [&](TrialRecord& trial) {
                              if (trial.sequence >= header_.first_sequence) return;
                              if (trial.log_text_row) {
                                const auto row = static_cast<std::size_t>(*trial.log_text_row);
                                trial.log_text_row = text_row(row < texts.size() ? texts[row] : "");
                              }
                              index_.add(trial, static_cast<std::uint32_t>(attempts_.rows()));
                              attempts_.append(trial);
                            });
}

void Snapshot::read_journal(JournalReader& reader, JournalFrame& frame) {
  while (reader.next(frame, Detail::kAll)) {
    switch (frame.kind) {
      case FrameKind::kHeader:
      case FrameKind::kStarted:
        break;
      case FrameKind::kRun:
        add_run(frame.run);
        break;
      case FrameKind::kAttempt:
        add_attempt(frame.attempt);
        break;
    }
  }
}

void Snapshot::add_run(RunInfo run) { merge_run(runs_, std::move(run)); }

void Snapshot::add_attempt(AttemptRecord& attempt) {
  TrialRecord& trial = attempt.trial;
  add_steps(attempt);
  add_provenance(attempt);
  trial.log_text_row = attempt.log.empty() ? Number() : Number(text_row(attempt.log));
  for (RankRecord& rank : attempt.ranks) {
    rank.run_id = trial.run_id;
    rank.trial_id = trial.trial_id;
    rank.repeat = trial.repeat;
    rank.attempt = trial.attempt;
    ranks_.append(rank);
  }
  index_.add(trial, static_cast<std::uint32_t>(attempts_.rows()));
  attempts_.append(trial);
}

void Snapshot::add_steps(AttemptRecord& attempt) {
  const std::uint64_t first = steps_.rows();
  for (const StepTimes& steps : attempt.steps) {
    for (std::size_t i = 0; i < steps.time_s.size(); ++i) {
      StepRow row{.rank = steps.rank,
                  .step = static_cast<std::int64_t>(i) + 1,
                  .warmup = static_cast<std::int64_t>(i) < steps.warmup_steps,
                  .time_s = steps.time_s[i],
                  .loss = std::nullopt};
      if (i < steps.loss.size()) row.loss = steps.loss[i];
      steps_.append(row);
    }
  }
  attempt.trial.steps_offset = static_cast<double>(first);
  attempt.trial.steps_count = static_cast<double>(steps_.rows() - first);
}

void Snapshot::add_provenance(const AttemptRecord& attempt) {
  if (!attempt.software.id.empty() &&
      known_software_.try_emplace(attempt.software.id, true).second) {
    software_.push_back(attempt.software);
  }
  for (const HostRecord& host : attempt.hosts) {
    if (!host.id.empty() && known_hosts_.try_emplace(host.id, true).second) hosts_.push_back(host);
  }
}

double Snapshot::text_row(const std::string& text) {
  const auto [place, is_new] = text_rows_.try_emplace(text, texts_.size());
  if (is_new) texts_.push_back(text);
  return static_cast<double>(place->second);
}

std::string Snapshot::image() {
  const hid_t file = file_.get();
  steps_.finish();
  const AttemptIndex::Selection selection = index_.select();
  write_table(file, "trials", attempts_, selection.trials);
  write_table(file, "attempts", attempts_, selection.attempts);
  write_table(file, "ranks", ranks_);
  write_small_tables();
  write_texts(file, "text", texts_);
  write_text_dataset(file, "README", readme());
  write_attribute(file, "schema_version", kSchemaVersion);
  write_attribute(file, "file_id", header_.file_id);
  write_attribute(file, "origin", header_.origin);
  write_attribute(file, "sweep_name", header_.sweep_name);
  write_attribute(file, kFirstSequence, header_.first_sequence);
  write_attribute(file, kRanksBefore, static_cast<std::int64_t>(ranks_before_journal_));
  write_attribute(file, kStepsBefore, static_cast<std::int64_t>(steps_before_journal_));
  return image_of(file_);
}

void Snapshot::write_small_tables() {
  const auto write = [&]<class Record>(const char* name, const std::vector<Record>& rows) {
    ColumnTable table = ColumnTable::of<Record>();
    for (const Record& row : rows) table.append(row);
    write_table(file_.get(), name, table);
  };
  std::vector<RunRow> runs;
  for (const RunInfo& run : runs_) {
    runs.push_back({run.run_id, run.site, run.created_utc, run.batchsweep_version,
                    static_cast<std::int64_t>(text_row(run.sweep_text)),
                    static_cast<std::int64_t>(text_row(run.site_text)),
                    static_cast<std::int64_t>(text_row(run.sweep_inputs)), run.rerun});
  }
  write("hosts", hosts_);
  write("software", software_);
  write("runs", runs);
  write("searches", std::vector<SearchRow>{});
  write("fields", field_rows());
}

}  // namespace batchsweep::results
