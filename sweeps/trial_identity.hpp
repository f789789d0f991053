// SPDX-License-Identifier: Apache-2.0
// The identity of a trial: canonical "key=value" lines, sorted, defaults left out, and their hash.
#pragma once

#include <string>

#include "sweeps/sweep_spec.hpp"
#include "sweeps/trial_spec.hpp"

namespace batchsweep::sweeps {

// Everything that changes the work or how it is measured; also the declared device's kind, cap, reserve, carrier and threads, the
// rehearsal rule that matches, and contents (not paths) of files.
[[nodiscard]] std::string canonical_text(const TrialSpec& spec, const SweepSpec& sweep);
[[nodiscard]] TrialId trial_id(const TrialSpec& spec, const SweepSpec& sweep);

}  // namespace batchsweep::sweeps
