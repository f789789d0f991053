// SPDX-License-Identifier: Apache-2.0
// An attempt that begins -> what its agents are told. Pure.
#pragma once

#include <utility>
#include <vector>

#include "orchestrator/attempt.hpp"
#include "orchestrator/cluster.hpp"
#include "sweeps/sweep_spec.hpp"

namespace batchsweep::orchestrator {

// One message an agent, in rank order of their first ranks.
[[nodiscard]] std::vector<std::pair<protocol::PeerId, protocol::StartRanks>> start_messages(
    const Attempt& attempt, const Cluster& cluster, const sweeps::SweepSpec& sweep);

}  // namespace batchsweep::orchestrator
