// SPDX-License-Identifier: Apache-2.0
// Which batchsweep this is, as orchestrator and agents tell each other.
#pragma once

#include <string>

namespace batchsweep::cli {

[[nodiscard]] std::string build_id();

}  // namespace batchsweep::cli
