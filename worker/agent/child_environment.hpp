// SPDX-License-Identifier: Apache-2.0
// Which variables a trial gets, and which of them are recorded. Pure functions over maps; only
// own_environment() looks at the process.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace batchsweep::agent {

using Environment = std::map<std::string, std::string>;

[[nodiscard]] Environment own_environment();
// Without the variables of launchers (a trial that finds them would try to join our MPI job) and
// without those that the agent sets.
[[nodiscard]] Environment scrubbed(Environment environment);
// Variables that change how LibTorch, CUDA, NCCL or the linker work, as "NAME=value\n" lines,
// sorted.
[[nodiscard]] std::string recorded_variables(const Environment& environment);

}  // namespace batchsweep::agent
