// SPDX-License-Identifier: Apache-2.0
// The layout of a results file beside the records' own columns: names of its tables, the rows of
// the small ones, what /README says. docs/file_format.md is made from this and the field table.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "results/record/fields.hpp"

namespace batchsweep::results {

constexpr std::int64_t kSchemaVersion = 1;

struct StepRow {
  std::int64_t rank = 0, step = 0;
  bool warmup = false;
  Number time_s, loss;
};
struct RunRow {
  std::string run_id, site, created_utc, batchsweep_version;
  std::int64_t sweep_text_row = 0, site_text_row = 0, inputs_text_row = 0;
  std::string rerun;
};
struct SearchRow {
  std::string run_id, search_id, gpu, model, precision;
  std::int64_t world_size = 1;
  Number sequence_length, image_height, image_width, max_batch_fit, min_batch_oom;
  bool exact = false;
  std::string verdict, probe_trial_ids;
};
struct FieldRow {
  std::string table, name, unit, meaning;
};

template <>
std::span<const Field<StepRow>> fields_of<StepRow>();
template <>
std::span<const Field<RunRow>> fields_of<RunRow>();
template <>
std::span<const Field<SearchRow>> fields_of<SearchRow>();
template <>
std::span<const Field<FieldRow>> fields_of<FieldRow>();

// Every table of the file with what one row of it is, in the order of the format page.
struct TableInfo {
  std::string_view name, row;
};
[[nodiscard]] std::span<const TableInfo> tables();
// All columns of all tables.
[[nodiscard]] std::vector<FieldRow> field_rows();
[[nodiscard]] std::string_view readme();
// docs/file_format.md, whole.
[[nodiscard]] std::string format_page();

}  // namespace batchsweep::results
