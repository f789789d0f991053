// SPDX-License-Identifier: Apache-2.0
// Every version and switch that this process computes under, for the first event.
#pragma once

#include <string>

#include "results/record/trial_record.hpp"

namespace batchsweep::train {

// `program` with its version; `switches`: those that precision and device have set.
[[nodiscard]] results::SoftwareRecord software_of(const std::string& program,
                                                  const std::string& switches);

}  // namespace batchsweep::train
