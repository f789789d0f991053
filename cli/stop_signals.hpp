// SPDX-License-Identifier: Apache-2.0
// Signals as a descriptor: SIGINT, SIGTERM, SIGHUP and SIGUSR1 are blocked for the whole process and read here, so no handler ever runs.
// Trial processes get their own mask back from the launcher.
#pragma once

#include <optional>

#include "base/unique_handle.hpp"

namespace batchsweep::cli {

enum class StopWish { kDrain, kNow };

class StopSignals {
 public:
  StopSignals();
  [[nodiscard]] int fd() const { return fd_.get(); }
  // What arrived since the last call: SIGUSR1 and the first SIGINT ask to drain; a second SIGINT, SIGTERM and SIGHUP to stop now.
  [[nodiscard]] std::optional<StopWish> take();
  [[nodiscard]] bool interrupted() const { return interrupts_ > 0; }  // any SIGINT so far

 private:
  UniqueFd fd_;
  int interrupts_ = 0;
};

}  // namespace batchsweep::cli
