// SPDX-License-Identifier: Apache-2.0
// One new process: dies with us, leads a session of its own, keeps none of our descriptors.
// Everything that needs memory or may fail is prepared before; between clone and exec there are
// system calls only.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/unique_handle.hpp"

namespace batchsweep::agent {

inline constexpr int kEventFdOfChild = 3;

struct SpawnRequest {
  std::string program;                   // path
  std::vector<std::string> arguments;    // argv, the program's name included
  std::vector<std::string> environment;  // "NAME=value"
  int standard_input = -1, output = -1;  // `output` becomes stdout and stderr
  int events = -1;                       // becomes kEventFdOfChild; -1: none
  std::vector<int> cpus;                 // cores that it may use; empty: ours
};

struct Spawned {
  pid_t pid = -1;
  UniqueFd pidfd;  // empty on kernels that have none
};

// Throws IoError with the reason when the program cannot be started. Call it from the main thread
// only: the child dies when the thread that spawned it ends.
[[nodiscard]] Spawned spawn(const SpawnRequest& request);

}  // namespace batchsweep::agent
