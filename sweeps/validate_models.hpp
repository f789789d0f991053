// SPDX-License-Identifier: Apache-2.0
// The part of sweeps/validate.hpp that looks at the model table and the GPU catalogue. Internal to
// sweeps/.
#pragma once

#include <string>

#include "sweeps/validate.hpp"

namespace batchsweep::sweeps {

// "" when the name is a declared device, a card of the catalogue or the default "cpu" (never in a
// rehearsal); else the sentence.
[[nodiscard]] std::string device_name_problem(const SweepSpec& sweep, const std::string& name);

// Models of the grid and of [[exclude]].
void check_model_names(const SweepSpec& sweep, const PlacedSweep& placed, Findings& findings);
// Data and sizes that a model cannot take; options that no model of the sweep has.
void check_model_options(const SweepSpec& sweep, const PlacedSweep& placed, Findings& findings);

}  // namespace batchsweep::sweeps
