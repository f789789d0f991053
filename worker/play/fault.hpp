// SPDX-License-Identifier: Apache-2.0
// The faults of a rehearsal that a process can do to itself, its descendants or the agent above it.
#pragma once

#include "sweeps/rehearsal.hpp"

namespace batchsweep::play {

// Does it at the start of a step; returns where the process is meant to go on (garbage, grandchild)
// or where the fault is played elsewhere (oom, nan_loss).
void commit(const sweeps::PlayScript& script, int event_fd);

}  // namespace batchsweep::play
