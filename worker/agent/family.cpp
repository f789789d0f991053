// SPDX-License-Identifier: Apache-2.0
#include "worker/agent/family.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "worker/agent/process_tree.hpp"

namespace batchsweep::agent {

Family::Family() : own_session_(getsid(0)), own_group_(getpgrp()) {}

void Family::tend() {
  constexpr auto kBetweenLooks = std::chrono::milliseconds(100);
  if (!due_ || std::chrono::steady_clock::now() - last_look_ < kBetweenLooks) return;
  (void)kill_orphans(0);
}

int Family::kill_orphans(pid_t doomed) {
  int alive = 0;
  for (const pid_t child : own_children()) {
    if (leaders_.contains(child)) continue;
    const auto stat = read_stat(child);
    // Whoever shares our session was started by another part of the program, not by a trial.
    if (!stat || stat->session == own_session_) continue;
    if (stat->state == 'Z') {
      waitpid(child, nullptr, WNOHANG);
    } else if (!spared(child, stat->session, doomed)) {
      if (stat->group != own_group_) kill(-stat->group, SIGKILL);
      kill(child, SIGKILL);
      ++alive;
    }
  }
  last_look_ = std::chrono::steady_clock::now();
  due_ = alive > 0;
  return alive;
}

// It belongs to a trial that may live on.
bool Family::spared(pid_t orphan, pid_t session, pid_t doomed) const {
  if (leaders_.contains(session)) return session != doomed;
  const auto tag = environment_of(orphan, kAttemptVariable);
  for (const auto& [leader, leaders_tag] : leaders_) {
    if (leader == doomed) continue;
    if (!tag || *tag == leaders_tag) return true;  // without a tag it could be anyone's
  }
  return false;
}

}  // namespace batchsweep::agent
