// SPDX-License-Identifier: Apache-2.0
// Evidence that the kernel's out-of-memory killer took a process: the counter of our cgroup, which
// the trials share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace batchsweep::agent {

class OomCounter {
 public:
  OomCounter();  // our own cgroup, version 2 or 1
  explicit OomCounter(std::string file) : file_(std::move(file)) { refresh(); }

  // Kills so far are nobody's of ours: called before a process starts.
  void refresh() { seen_ = read(); }
  // True once per kill since the last refresh.
  [[nodiscard]] bool take_one();

 private:
  [[nodiscard]] std::optional<std::uint64_t> read() const;
  std::string file_;  // "" = there is none
  std::optional<std::uint64_t> seen_;
};

}  // namespace batchsweep::agent
