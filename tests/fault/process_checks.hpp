// SPDX-License-Identifier: Apache-2.0
// What the fault tests ask about processes; every wait has a deadline.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <string>

#include "base/clock.hpp"
#include "worker/agent/launcher.hpp"
#include "worker/agent/process_tree.hpp"

namespace batchsweep::agent {

// True as soon as the condition holds, false when it has not for `limit_s`.
inline bool eventually(const std::function<bool()>& condition, double limit_s = 20) {
  const Instant deadline = system_clock().now() + seconds(limit_s);
  while (!condition()) {
    if (system_clock().now() > deadline) return false;
    poll(nullptr, 0, 1);
  }
  return true;
}

// Dead counts whether or not somebody has already asked for the status.
inline bool is_dead(pid_t pid) {
  const auto stat = read_stat(pid);
  return !stat || stat->state == 'Z';
}

// For tests that adopt the orphans of processes they have killed.
inline bool all_children_reaped() {
  while (waitpid(-1, nullptr, WNOHANG) > 0) {
  }
  return own_children().empty();
}

inline int open_descriptors() {
  int count = 0;
  for (int fd = 0; fd < 1024; ++fd) count += fcntl(fd, F_GETFD) >= 0 ? 1 : 0;
  return count;
}

// Runs it to its end, reads all it says, and kills what it leaves behind.
inline ExitStatus finish(Process& process, double limit_s = 20) {
  std::optional<ExitStatus> status;
  (void)eventually(
      [&] {
        (void)process.take_event_lines();
        status = process.poll_exit();
        return status.has_value();
      },
      limit_s);
  (void)process.take_event_lines();
  (void)eventually([&] { return process.kill_tree(); }, limit_s);
  return status.value_or(ExitStatus{});
}

}  // namespace batchsweep::agent
