// SPDX-License-Identifier: Apache-2.0
// Reads a results file: whole rows or a few columns, by column name, so that older files (fewer columns) and newer ones (more) work.
// Opens without locking; never writes. A journal left beside the file holds rows that it lacks: said in rows_missing; one of another file is refused.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "results/record/trial_record.hpp"

namespace batchsweep::results {

struct RunInfo {
  std::string run_id, site, created_utc, batchsweep_version, sweep_text, site_text;
  std::string sweep_inputs;  // sweeps::inputs_text: with it the texts are read again anywhere; "" in older files
  std::string rerun;  // what it asks again: "" of a first run, "all", "failed", or a filter
  bool operator==(const RunInfo&) const = default;
};

struct ResultsFile {
  std::string path, file_id, origin, sweep_name;
  std::int64_t schema_version = 0;
  std::vector<RunInfo> runs;           // oldest first
  std::vector<TrialRecord> trials;     // the rows of /trials
  // A running or killed sweep left a journal beside it, so rows may be missing: the sentence that says
  // which, and what to do. "" where all is here.
  std::string rows_missing;
};

// `columns` empty: all of them; otherwise only those are filled (a report over a million rows reads what it needs).
// Throws ResultsFileError: "damaged: <why>", "not an HDF5 file", "schema 3 is newer than this program's 1: ...".
[[nodiscard]] ResultsFile read_results(const std::string& path, const std::vector<std::string_view>& columns = {});

// The same, row by row, for files whose rows would not all fit into memory as structs (2.7 KB each): `trials` of the result stays empty.
[[nodiscard]] ResultsFile for_each_result(const std::string& path, const std::vector<std::string_view>& columns,
                                          const std::function<void(const TrialRecord&)>& use);

// Everything about one trial: all attempts, ranks, steps, log texts (for explain).
[[nodiscard]] std::vector<AttemptRecord> read_trial(const std::string& path, const std::string& trial_id);

}  // namespace batchsweep::results
