// SPDX-License-Identifier: Apache-2.0
// The part of sweeps/validate.hpp about where ranks may lie: world_size, num_nodes, placement.
// Internal to sweeps/.
#pragma once

#include "sweeps/validate.hpp"

namespace batchsweep::sweeps {

// What contradicts itself, and what no declared cluster could ever hold.
void check_places(const SweepSpec& sweep, const PlacedSweep& placed, const PlacedBlock& block,
                  Findings& findings);

}  // namespace batchsweep::sweeps
