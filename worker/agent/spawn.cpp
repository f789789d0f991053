// SPDX-License-Identifier: Apache-2.0
#include "worker/agent/spawn.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/error.hpp"

#ifndef CLONE_PIDFD
#define CLONE_PIDFD 0x1000
#endif

namespace batchsweep::agent {
namespace {

// What the child needs, in memory that it shares with us until exec.
struct ChildPlan {
  const char* program;
  char* const* argv;
  char* const* envp;
  int standard_input, output, events;
  pid_t parent;
  const cpu_set_t* cpus;  // null: as we
  std::size_t cpus_bytes;
  int error;         // errno of the call that failed, told by the child
  const char* what;  // that call
};

// What runs in the child leaves its frames behind at exec, on a stack that the next child uses
// again: an address sanitizer would take them for living ones.
[[gnu::no_sanitize_address]] void set_signal(int number, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  sigaction(number, &action, nullptr);
}

// Signals start at their defaults, but an interrupt from the terminal or a drain is for the agent,
// which decides about its trials.
[[gnu::no_sanitize_address]] void reset_signals() {
  for (int number = 1; number < NSIG; ++number) set_signal(number, SIG_DFL);
  set_signal(SIGINT, SIG_IGN);
  set_signal(SIGUSR1, SIG_IGN);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

// The kernel shall take the trial, never the agent, when memory ends. Not being allowed to is no
// reason to fail.
[[gnu::no_sanitize_address]] void offer_to_the_oom_killer() {
  const int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  if (write(fd, "800", 3) < 0) errno = 0;
  close(fd);
}

[[gnu::no_sanitize_address]] bool close_from(int first) {
#ifdef SYS_close_range
  if (syscall(SYS_close_range, first, ~0U, 0) == 0) return true;
#endif
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return false;
  const int end = limit.rlim_cur > 1'048'576 ? 1'048'576 : static_cast<int>(limit.rlim_cur);
  for (int fd = first; fd < end; ++fd) close(fd);
  return true;
}

// The three, and the events as 3. All of ours are 4 or more (spawn() sees to it), so no dup2 hits
// one that is still needed.
[[gnu::no_sanitize_address]] bool arrange_descriptors(const ChildPlan& plan) {
  if (dup2(plan.standard_input, STDIN_FILENO) < 0 || dup2(plan.output, STDOUT_FILENO) < 0 ||
      dup2(plan.output, STDERR_FILENO) < 0) {
    return false;
  }
  if (plan.events >= 0 && dup2(plan.events, kEventFdOfChild) < 0) return false;
  return close_from(plan.events >= 0 ? kEventFdOfChild + 1 : kEventFdOfChild);
}

[[gnu::no_sanitize_address]] int child_main(void* argument) {
  ChildPlan& plan = *static_cast<ChildPlan*>(argument);
  reset_signals();
  plan.what = "prctl";
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return plan.error = errno, 127;
  if (getppid() != plan.parent) _exit(127);  // it died before we asked to die with it
  setsid();
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  offer_to_the_oom_killer();
  if (plan.cpus != nullptr) {
    plan.what = "sched_setaffinity";
    if (sched_setaffinity(0, plan.cpus_bytes, plan.cpus) != 0) return plan.error = errno, 127;
  }
  plan.what = "dup2";
  if (!arrange_descriptors(plan)) return plan.error = errno, 127;
  plan.what = nullptr;
  execve(plan.program, plan.argv, plan.envp);
  plan.error = errno;
  return 127;
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> result;
  result.reserve(texts.size() + 1);
  for (const std::string& text : texts) result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

std::vector<cpu_set_t> mask_of(const std::vector<int>& cpus) {
  if (cpus.empty()) return {};
  const auto last = static_cast<std::size_t>(*std::ranges::max_element(cpus));
  std::vector<cpu_set_t> mask(last / (8 * sizeof(cpu_set_t)) + 1);
  for (const int cpu : cpus)
    CPU_SET_S(static_cast<std::size_t>(cpu), mask.size() * sizeof(cpu_set_t), mask.data());
  return mask;
}

// One stack is enough: we stand still until the child has left it.
char* child_stack_end() {
  constexpr std::size_t kSize = 64 * 1024;
  static char* const stack = [] {
    void* memory = mmap(nullptr, kSize, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (memory == MAP_FAILED) throw_errno("no memory for a child's stack", errno);
    return static_cast<char*>(memory);
  }();
  return stack + kSize;
}

}  // namespace

Spawned spawn(const SpawnRequest& request) {
  const auto argv = pointers(request.arguments);
  const auto envp = pointers(request.environment);
  const std::vector<cpu_set_t> cpus = mask_of(request.cpus);
  ChildPlan plan{request.program.c_str(),
                 argv.data(),
                 envp.data(),
                 request.standard_input,
                 request.output,
                 request.events,
                 getpid(),
                 cpus.empty() ? nullptr : cpus.data(),
                 cpus.size() * sizeof(cpu_set_t),
                 0,
                 nullptr};
  char* const stack_end = child_stack_end();

  // The child shares our memory until exec: none of our signal handlers may run in it.
  sigset_t all, before;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before);
  int pidfd = -1;
  const pid_t pid =
      clone(child_main, stack_end, CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD, &plan, &pidfd);
  const int clone_error = errno;
  sigprocmask(SIG_SETMASK, &before, nullptr);

  if (pid < 0)
    throw_errno(fmt::format("cannot start {}: no new process", request.program), clone_error);
  Spawned spawned{pid, UniqueFd(pidfd)};
  if (plan.error != 0) {
    waitpid(pid, nullptr, 0);
    throw_errno(plan.what == nullptr
                    ? fmt::format("cannot start {}", request.program)
                    : fmt::format("cannot start {}: {}", request.program, plan.what),
                plan.error);
  }
  return spawned;
}

}  // namespace batchsweep::agent
