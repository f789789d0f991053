// SPDX-License-Identifier: Apache-2.0
#include "cli/stop_signals.hpp"

#include <signal.h>
#include <sys/signalfd.h>

#include <cerrno>

#include "base/error.hpp"

namespace batchsweep::cli {

StopSignals::StopSignals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1}) sigaddset(&set, signal);
  if (sigprocmask(SIG_BLOCK, &set, nullptr) != 0) throw_errno("cannot block signals", errno);
  fd_ = UniqueFd(signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC));
  if (!fd_) throw_errno("cannot open a signal descriptor", errno);
}

std::optional<StopWish> StopSignals::take() {
  std::optional<StopWish> wish;
  signalfd_siginfo info;
  while (read(fd_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    const int signal = static_cast<int>(info.ssi_signo);
    const bool drain = signal == SIGUSR1 || (signal == SIGINT && interrupts_ == 0);
    if (signal == SIGINT) ++interrupts_;
    if (!drain) {
      wish = StopWish::kNow;
    } else if (!wish) {
      wish = StopWish::kDrain;
    }
  }
  return wish;
}

}  // namespace batchsweep::cli
