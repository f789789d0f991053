// SPDX-License-Identifier: Apache-2.0
// TrialSpec as JSON, for the trial process (docs/trial_protocol.md). Members at their default are left out; keys are the member names.
#pragma once

#include "base/json.hpp"
#include "sweeps/trial_spec.hpp"

namespace batchsweep::sweeps {

[[nodiscard]] Json to_json(const TrialSpec& spec);
// Throws Json exceptions on wrong types; unknown keys are ignored (a newer orchestrator).
[[nodiscard]] TrialSpec trial_spec_from_json(const Json& json);

}  // namespace batchsweep::sweeps
