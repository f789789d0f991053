// SPDX-License-Identifier: Apache-2.0
// Going on with another LibTorch, CUDA, cuDNN or NCCL than the file was recorded with is refused: the rows would not be comparable.
#pragma once

#include <string>
#include <vector>

#include "results/record/trial_record.hpp"

namespace batchsweep::cli {

// Throws ResultsFileError that names each difference and the two ways on (--rerun all, --accept-changes).
void refuse_changed_software(const std::string& results_path, const std::vector<results::SoftwareRecord>& recorded,
                             const std::string& program);

// Pure: "LibTorch 2.10.0 then, 2.11.0 now" for each version that both know and that differs.
[[nodiscard]] std::vector<std::string> software_differences(const results::SoftwareRecord& then,
                                                            const results::SoftwareRecord& now);

}  // namespace batchsweep::cli
