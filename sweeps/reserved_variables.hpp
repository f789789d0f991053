// SPDX-License-Identifier: Apache-2.0
// Environment variables that would be lost on their way to a trial: the agent drops them or sets
// them itself. One list for it and for the reader of sweep files, which refuses them. Pure.
#pragma once

#include <string_view>

namespace batchsweep::sweeps {

// OMPI_*, SLURM_*, ...: a trial that saw them would take itself for a rank of the launcher's.
[[nodiscard]] bool is_launcher_variable(std::string_view name);

// Those that the agent gives to each trial.
[[nodiscard]] bool is_set_by_agent(std::string_view name);

}  // namespace batchsweep::sweeps
