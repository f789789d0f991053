// SPDX-License-Identifier: Apache-2.0
// The rules between sections: names that must be known, values that must fit each other. Internal
// to sweeps/; runs after every section was read, and tells everything it finds.
#pragma once

#include <vector>

#include "sweeps/read_sections.hpp"
#include "sweeps/sweep_spec.hpp"

namespace batchsweep::sweeps {

// What was read, with places.
struct PlacedSweep {
  std::vector<PlacedBlock> blocks;
  std::vector<PlacedAxis> trial;          // keys of [trial]
  std::vector<PlacedAxis> model_options;  // of [model.X]
  std::vector<PlacedMatches> excludes;
  std::vector<Placed> device_names;  // that [[runtime]] and [[rehearsal.node]] mention
};

void validate(const SweepSpec& sweep, const PlacedSweep& placed, Findings& findings);

}  // namespace batchsweep::sweeps
