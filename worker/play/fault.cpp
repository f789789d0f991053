// SPDX-License-Identifier: Apache-2.0
#include "worker/play/fault.hpp"

#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string_view>

namespace batchsweep::play {
namespace {

void say(int fd, std::string_view text) {
  if (write(fd, text.data(), text.size()) < 0) _exit(1);
}

[[noreturn]] void die_by(int number) {
  signal(number, SIG_DFL);
  raise(number);
  _exit(1);
}

[[noreturn]] void wait_for_ever() {
  for (;;) pause();
}

// A child in a session of its own, with nothing of ours but the environment: what a careless data
// loader leaves behind.
void leave_a_grandchild() {
  if (fork() != 0) return;
  setsid();
  for (int fd = 0; fd < 64; ++fd) close(fd);
  wait_for_ever();
}

}  // namespace

void commit(const sweeps::PlayScript& script, int event_fd) {
  using sweeps::Fault;
  switch (script.fault) {
    case Fault::kNone:
    case Fault::kNanLoss:
    case Fault::kOom:
      return;
    case Fault::kHang:
      wait_for_ever();
    case Fault::kStop:
      raise(SIGSTOP);
      return;
    case Fault::kSegfault:
      die_by(SIGSEGV);
    case Fault::kKill:
    case Fault::kHostOom:  // as the kernel would; without the kernel's own evidence it is a crash
      die_by(SIGKILL);
    case Fault::kExit:
      _exit(script.fault_exit_code);
    case Fault::kHalfLine:
      say(event_fd, R"({"event":"step","st)");
      die_by(SIGKILL);
    case Fault::kGarbage:
      say(event_fd, "Warning: this line is no event\n");
      return;
    case Fault::kBusError:
      die_by(SIGBUS);
    case Fault::kGrandchild:
      return leave_a_grandchild();
    case Fault::kKillAgent:
      kill(getppid(), SIGKILL);
      wait_for_ever();
  }
}

}  // namespace batchsweep::play
