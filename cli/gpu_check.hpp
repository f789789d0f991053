// SPDX-License-Identifier: Apache-2.0
// Going on with another GPU or driver than the file was recorded with is refused: the rows would not be comparable.
#pragma once

#include <string>
#include <vector>

#include "results/store/results_store.hpp"
#include "worker/protocol/messages.hpp"

namespace batchsweep::cli {

// Throws ResultsFileError that names each difference and the two ways on (--rerun all, --accept-changes).
void refuse_changed_gpus(const std::string& results_path, const std::vector<results::RecordedGpu>& recorded,
                         const std::vector<protocol::DeviceOffer>& offered);

// Pure: "H100 80GB SXM: driver 570 then, 580 now" for each offered GPU whose card and driver were not recorded together under its name.
// A name that was never recorded has nothing to be compared with.
[[nodiscard]] std::vector<std::string> gpu_differences(const std::vector<results::RecordedGpu>& recorded,
                                                       const std::vector<protocol::DeviceOffer>& offered);

}  // namespace batchsweep::cli
