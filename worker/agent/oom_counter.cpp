// SPDX-License-Identifier: Apache-2.0
#include "worker/agent/oom_counter.hpp"

#include <fstream>

#include "worker/agent/cgroup.hpp"

namespace batchsweep::agent {

OomCounter::OomCounter()
    : OomCounter(cgroup_file("memory.events", "memory", "memory.oom_control")) {}

std::optional<std::uint64_t> OomCounter::read() const {
  if (file_.empty()) return std::nullopt;
  std::ifstream file(file_);
  std::string name;
  std::uint64_t count = 0;
  while (file >> name >> count) {
    if (name == "oom_kill") return count;
  }
  return std::nullopt;
}

bool OomCounter::take_one() {
  const auto now = read();
  if (!now || !seen_ || *now <= *seen_) return false;
  ++*seen_;
  return true;
}

}  // namespace batchsweep::agent
