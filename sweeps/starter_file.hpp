// SPDX-License-Identifier: Apache-2.0
// The text that `batchsweep init` writes: a small sweep for one machine, every line explained. Pure: the machine comes as arguments.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace batchsweep::sweeps {

struct StarterMachine {
  std::string hostname;
  std::int64_t cores = 1;
  std::uint64_t memory_bytes = 0;
  std::vector<std::string> gpus;  // types found, one entry a card
};

[[nodiscard]] std::string starter_file(const std::string& name, const StarterMachine& machine);

}  // namespace batchsweep::sweeps
