// SPDX-License-Identifier: Apache-2.0
// All that is recorded - the previous .h5 and the journal behind it - and its image as a new .h5.
// Writes no file.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "results/store/attempt_index.hpp"
#include "results/store/column_table.hpp"
#include "results/store/journal.hpp"
#include "results/store/schema.hpp"
#include "results/store/table_writer.hpp"

namespace batchsweep::results {

// /steps, written as its rows come: it is by far the longest table.
class StepsWriter {
 public:
  explicit StepsWriter(hid_t file);
  void append(const StepRow& row);
  void finish();
  [[nodiscard]] std::uint64_t rows() const { return rows_; }

 private:
  ColumnTable chunk_;
  TableWriter writer_;
  std::uint64_t rows_ = 0;
};

class Snapshot {
 public:
  // `path` of the .h5; reads it where it is there, then the journal where that is there. Throws
  // ResultsFileError, IoError.
  explicit Snapshot(const std::string& path);
  // The new file's content, without its seal.
  [[nodiscard]] std::string image();

 private:
  void read_previous(const std::string& path);
  void read_previous_attempts(hid_t file, const char* table, const std::vector<std::string>& texts);
  void read_journal(JournalReader& reader, JournalFrame& frame);
  void add_run(RunInfo run);
  void add_attempt(AttemptRecord& attempt);
  void add_steps(AttemptRecord& attempt);
  void add_provenance(const AttemptRecord& attempt);
  [[nodiscard]] double text_row(const std::string& text);
  void write_small_tables();

  H5File file_;  // in memory
  JournalHeader header_;
  bool has_journal_ = false;
  ColumnTable attempts_, ranks_;
  AttemptIndex index_;
  StepsWriter steps_;
  std::vector<RunInfo> runs_;
  std::vector<HostRecord> hosts_;
  std::vector<SoftwareRecord> software_;
  std::unordered_map<std::string, bool> known_hosts_, known_software_;
  std::vector<std::string> texts_{""};
  std::unordered_map<std::string, std::size_t> text_rows_{{"", 0}};
  std::uint64_t ranks_before_journal_ = 0, steps_before_journal_ = 0;
};

}  // namespace batchsweep::results
