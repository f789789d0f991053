// SPDX-License-Identifier: Apache-2.0
// One trial from its input to its ending event. Never throws for what goes wrong with the trial:
// that is its ending.
#pragma once

#include <istream>
#include <string>

#include "worker/protocol/event_writer.hpp"
#include "worker/protocol/trial_input.hpp"

namespace batchsweep::train {

// `program`: name and version, for the record. `more_input`: where the second line comes from
// (protocol/trial_events.hpp).
void run_trial(const protocol::TrialInput& input, const std::string& program,
               protocol::EventWriter& writer, std::istream& more_input);

}  // namespace batchsweep::train
