// SPDX-License-Identifier: Apache-2.0
// A rehearsal with mode = "simulated": the core over a simulated cluster in virtual time; the recording is real.
#pragma once

#include "cli/run_setup.hpp"
#include "cli/stop_signals.hpp"

namespace batchsweep::cli {

[[nodiscard]] ExitCode run_simulated(RunSetup& setup, StopSignals& signals);

}  // namespace batchsweep::cli
