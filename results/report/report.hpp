// SPDX-License-Identifier: Apache-2.0
// All answers about one or several results files. Chooses the rows (those that count, newest sweep
// text), gathers them and asks each answer; results/report/render.hpp writes it down. Writes
// nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "results/report/frontier.hpp"
#include "results/report/groups.hpp"
#include "results/report/memory_fit.hpp"
#include "results/report/scaling.hpp"
#include "results/report/throughput.hpp"
#include "results/report/verdicts.hpp"
#include "results/store/reader.hpp"
#include "sweeps/axis.hpp"

namespace batchsweep::results {

struct ReportOptions {
  std::vector<std::vector<sweeps::AxisMatch>> only;  // rows that match one of them; empty: all
  std::string reference;                             // a GPU's name; "" = the first
  bool all = false;                                  // every run and every row of the files
};

// Where the rows come from, and which of the file's rows were left out.
struct ReportedFile {
  std::string path, sweep_name, run_id, created_utc, site;
  std::int64_t rows_of_older_runs = 0, rows_no_longer_asked = 0;
};

struct Report {
  std::vector<ReportedFile> files;
  std::vector<std::string> notices;
  Groups groups;
  std::vector<LargestBatch> largest_batch;
  ThroughputAnswer throughput;
  std::vector<MemoryFit> memory;
  std::vector<Scaling> scaling;
  std::vector<Verdict> verdicts;
};

// The columns that a report looks at: all that the reader has to fill.
[[nodiscard]] std::vector<std::string_view> report_columns();

// Takes the files one after the other, row by row: add() each row of a file, then end_file().
class ReportBuilder {
 public:
  explicit ReportBuilder(ReportOptions options);
  ~ReportBuilder();
  void add(const TrialRecord& trial);
  void end_file(const ResultsFile& file);  // `trials` is not looked at
  [[nodiscard]] Report finish() &&;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The answers about rows that were chosen already.
[[nodiscard]] Report answer(Groups groups, const std::string& reference);

}  // namespace batchsweep::results
