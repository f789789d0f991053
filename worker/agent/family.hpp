// SPDX-License-Identifier: Apache-2.0
// The trials of one launcher and what they leave behind: orphans are adopted by us (a subreaper),
// told apart by session and tag, and killed unless they belong to a trial that lives on.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <string>

#include "worker/agent/oom_counter.hpp"

namespace batchsweep::agent {

class Family {
 public:
  Family();
  void add(pid_t leader, std::string tag) { leaders_.emplace(leader, std::move(tag)); }
  void remove(pid_t leader) { leaders_.erase(leader); }
  [[nodiscard]] bool others_than(pid_t leader) const {
    return leaders_.size() > leaders_.count(leader);
  }
  OomCounter& oom() { return oom_; }

  // A trial has ended by itself while others go on: what it may have left behind is looked for at
  // the next tend(), because looking costs as much as starting a short trial.
  void look_later() { due_ = true; }
  void tend();
  // Kills the children that were adopted from trials that are gone, or from the one led by
  // `doomed`; how many were still alive. Call again until none: their own children are adopted
  // next.
  int kill_orphans(pid_t doomed);

 private:
  [[nodiscard]] bool spared(pid_t orphan, pid_t session, pid_t doomed) const;

  std::map<pid_t, std::string> leaders_;  // of living trials -> tag
  OomCounter oom_;
  pid_t own_session_, own_group_;
  bool due_ = false;
  std::chrono::steady_clock::time_point last_look_;
};

}  // namespace batchsweep::agent
