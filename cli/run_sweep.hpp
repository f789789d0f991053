// SPDX-License-Identifier: Apache-2.0
// `batchsweep run`: chooses transport and role, then loops: receive, core, journal, send.
#pragma once

#include "base/error.hpp"
#include "cli/run_options.hpp"

namespace batchsweep::cli {

[[nodiscard]] ExitCode run_sweep(const RunOptions& options);

}  // namespace batchsweep::cli
