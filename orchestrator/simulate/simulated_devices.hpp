// SPDX-License-Identifier: Apache-2.0
// The devices that the nodes of a simulated rehearsal offer. Pure.
#pragma once

#include <string>
#include <vector>

#include "sweeps/sweep_spec.hpp"
#include "worker/protocol/messages.hpp"

namespace batchsweep::orchestrator {

// One registration a node: "n1", "n2", ...
[[nodiscard]] std::vector<protocol::Register> simulated_nodes(const sweeps::SweepSpec& sweep);

}  // namespace batchsweep::orchestrator
