// SPDX-License-Identifier: Apache-2.0
// What `batchsweep run` was asked for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sweeps/sweep_file.hpp"

namespace batchsweep::cli {

struct RunOptions {
  std::string sweep_file;
  sweeps::SweepFileOptions file;
  std::optional<std::string> results;  // absent: <name>.h5 in the current folder
  std::optional<std::string> job;  // the part of one [[slurm]] job
  std::vector<std::string> only;
  std::optional<std::string> rerun;  // "all", "failed", a filter
  bool accept_changes = false;
  std::optional<std::int64_t> max_trials;
  std::optional<std::string> until, budget;
  bool quarantine = false, no_quarantine = false;  // absent both: off in a rehearsal, else on
  bool alone = false;
  std::string program;  // absolute path of this executable
};

}  // namespace batchsweep::cli
