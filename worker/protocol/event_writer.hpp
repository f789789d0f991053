// SPDX-License-Identifier: Apache-2.0
// A trial process's side of the events: step lines are dropped (and counted) when the pipe is full,
// all others wait.
#pragma once

#include <cstdint>

#include "worker/protocol/trial_events.hpp"

namespace batchsweep::protocol {

class EventWriter {
 public:
  // The descriptor named by BATCHSWEEP_EVENT_FD, else standard output.
  EventWriter();
  void write(const TrialEvent& event);
  // Goes out together with the next write() or flush(): for a program whose steps take
  // microseconds, where a system call an event would be most of the time.
  void write_later(const TrialEvent& event);
  void flush();
  [[nodiscard]] std::int64_t dropped() const { return dropped_; }
  [[nodiscard]] int fd() const { return fd_; }

 private:
  int fd_;
  std::int64_t dropped_ = 0;
  std::string later_;
};

}  // namespace batchsweep::protocol
