// SPDX-License-Identifier: Apache-2.0
// When and how the .h5 is made anew while a sweep runs: a child `batchsweep publish F.h5`, so that
// heartbeats do not wait for it. Knows nothing of what is in the files.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "base/clock.hpp"

namespace batchsweep::results {

class Publisher {
 public:
  // `published_bytes`: how much of the journal the .h5 holds already.
  Publisher(std::string path, std::string program, std::uint64_t published_bytes);
  ~Publisher();
  Publisher(const Publisher&) = delete;
  Publisher& operator=(const Publisher&) = delete;

  // Starts a child when one is due (at first at once, then after the longer of 2 s and 20 x the
  // last one), collects a finished one. Never blocks where there is a program to start.
  void poll(Instant now, std::uint64_t journal_bytes);
  // Ends a child that is at work and takes away what it wrote: the journal needs the room. False:
  // there is none. The next one is not soon.
  bool make_room();
  // All of it, now, in this process. Throws IoError.
  void finish(std::uint64_t journal_bytes);

 private:
  void start(Instant now, std::uint64_t journal_bytes);
  void collect(Instant now, int flags);

  std::string path_, program_;
  std::uint64_t published_bytes_;
  std::uint64_t child_bytes_ = 0;
  pid_t child_ = 0;
  bool polled_ = false;
  Instant child_started_{}, due_{};
};

}  // namespace batchsweep::results
