// SPDX-License-Identifier: Apache-2.0
// F.h5.status.json, replaced by rename once a second while a sweep runs: feeds watch and explain.
#pragma once

#include <string>

#include "base/json.hpp"

namespace batchsweep::results {

// Adds who writes it. Atomic; a failure to write is returned as false (status is never worth a
// sweep).
[[nodiscard]] bool write_status(const std::string& results_path, Json status);
// null where there is none, and where the sweep that wrote it is gone.
[[nodiscard]] Json read_status(const std::string& results_path);
void remove_status(const std::string& results_path);

}  // namespace batchsweep::results
