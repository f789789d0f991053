// SPDX-License-Identifier: Apache-2.0
#include "results/store/run_table.hpp"

#include "results/store/schema.hpp"
#include "results/store/table_reader.hpp"

namespace batchsweep::results {

std::vector<RunInfo> read_runs(hid_t file) {
  RecordReader<RunRow> reader(file, "runs", [](const std::string&) { return true; });
  std::vector<RunInfo> runs;
  RunRow row;
  while (reader.table().next()) {
    for (std::size_t i = 0; i < reader.table().rows(); ++i) {
      reader.read(i, row);
      runs.push_back({row.run_id, row.site, row.created_utc, row.batchsweep_version,
                      read_one_text(file, "text", static_cast<std::uint64_t>(row.sweep_text_row)),
                      read_one_text(file, "text", static_cast<std::uint64_t>(row.site_text_row)),
                      read_one_text(file, "text", static_cast<std::uint64_t>(row.inputs_text_row)),
                      row.rerun});
    }
  }
  return runs;
}

void merge_run(std::vector<RunInfo>& runs, RunInfo run) {
  for (RunInfo& known : runs) {
    if (known.run_id != run.run_id) continue;
    run.created_utc = known.created_utc;
    known = std::move(run);
    return;
  }
  runs.push_back(std::move(run));
}

}  // namespace batchsweep::results
