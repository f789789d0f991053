// SPDX-License-Identifier: Apache-2.0
// Everything known about one trial, for people: its attempts as recorded, or why it has none yet.
// Pure; the reader and the status file are asked by whoever calls.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "results/record/outcome.hpp"
#include "results/record/trial_record.hpp"
#include "results/store/reader.hpp"
#include "sweeps/trial_spec.hpp"

namespace batchsweep::results {

// Columns that all attempts share once, then each attempt with its evidence, ranks, step times and
// log.
[[nodiscard]] std::string explain_attempts(const std::vector<AttemptRecord>& attempts);

// Which row of each repeat counts of the file's runs. `spec`: null where the newest sweep text does
// not ask for the trial.
struct CountingRow {
  std::int64_t repeat = 0;
  std::optional<Outcome> outcome;  // absent: no row counts, the trial is measured again
  std::string run_id;              // of the row, "" without one
};
[[nodiscard]] std::vector<CountingRow> counting_rows(const std::vector<AttemptRecord>& attempts,
                                                     const std::vector<RunInfo>& runs,
                                                     const sweeps::TrialSpec* spec);
// As text, where the file has several runs; else "".
[[nodiscard]] std::string explain_what_counts(const std::vector<CountingRow>& rows,
                                              const std::vector<RunInfo>& runs);
[[nodiscard]] Json to_json(const CountingRow& row);

// Where a trial without a row stands, from a running sweep's status (null: none runs): "running on
// ...", "waiting: ...", "skipped: ...".
[[nodiscard]] std::string explain_standing(const sweeps::TrialSpec& spec,
                                           const std::string& trial_id, const Json& status);

}  // namespace batchsweep::results
