// SPDX-License-Identifier: Apache-2.0
// Plays one rank of a rehearsal: the events of a real trial with the script's step times, memory
// and fault. Trains nothing.
#pragma once

#include "worker/protocol/event_writer.hpp"
#include "worker/protocol/trial_input.hpp"

namespace batchsweep::play {

// Returns the process's exit code; may not return at all, where the script has a fault.
[[nodiscard]] int play(const protocol::TrialInput& input, protocol::EventWriter& events);

}  // namespace batchsweep::play
