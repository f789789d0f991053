// SPDX-License-Identifier: Apache-2.0
// The runs of a results file with their texts.
#pragma once

#include <vector>

#include "results/store/h5.hpp"
#include "results/store/reader.hpp"

namespace batchsweep::results {

[[nodiscard]] std::vector<RunInfo> read_runs(hid_t file);
// A run that is known already goes on with the new texts; its begin stays.
void merge_run(std::vector<RunInfo>& runs, RunInfo run);

}  // namespace batchsweep::results
