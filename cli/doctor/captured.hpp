// SPDX-License-Identifier: Apache-2.0
// Runs another program to its end, or to a deadline, and keeps what it said. For asking (mpirun
// --version), never for trials.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"

namespace batchsweep::cli {

struct Captured {
  bool started = false;          // false: not there, or not executable
  bool timed_out = false;        // it was killed, with its process group, at the deadline
  std::optional<int> exit_code;  // absent: not started, or ended by a signal
  std::string output;            // standard output and standard error, as they came; at most 64 KiB
  double seconds = 0;

  [[nodiscard]] bool succeeded() const { return exit_code == 0 && !timed_out; }
};

// The first word is looked up in PATH. `env` comes on top of our own environment. Standard input is
// empty.
[[nodiscard]] Captured capture(const std::vector<std::string>& command, Duration limit,
                               const std::map<std::string, std::string>& env = {});

}  // namespace batchsweep::cli
