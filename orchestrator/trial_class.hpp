// SPDX-License-Identifier: Apache-2.0
// What the scheduler has to know of a trial: what it needs, and what decides how long it takes: its
// family (everything but the batch, the steps and where it runs) and its work, about which the
// times of a family are a line. Pure.
#pragma once

#include <string>

#include "orchestrator/scheduler.hpp"
#include "sweeps/trial_spec.hpp"

namespace batchsweep::orchestrator {

[[nodiscard]] Needs needs_of(const sweeps::TrialSpec& spec, bool exclusive_host);
// Equal texts are one family.
[[nodiscard]] std::string family_of(const sweeps::TrialSpec& spec);
// Samples that each rank goes through, warm-up included.
[[nodiscard]] double work_of(const sweeps::TrialSpec& spec);

}  // namespace batchsweep::orchestrator
