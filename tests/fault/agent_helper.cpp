// SPDX-License-Identifier: Apache-2.0
// Stands in for batchsweep in tests that need another process: `probe LIBRARY` tells what that NVML
// finds; `launch PROGRAM ARGUMENT...` launches it as an agent would, prints its pid, and waits to
// be killed; `oom PROCS` enters that memory group and launches first a trial that is killed by
// hand, then one that takes all memory, and ends well if only the second is told to be the kernel's
// doing.
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

#include "worker/agent/device_inventory.hpp"
#include "worker/agent/launcher.hpp"

namespace {

using namespace batchsweep;

bool taken_by_the_kernel(agent::Launcher& launcher, const std::string& script) {
  const auto process = launcher.launch({.command = {"sh", "-c", script}});
  std::optional<agent::ExitStatus> status;
  while (!(status = process->poll_exit())) usleep(1000);
  while (!process->kill_tree()) usleep(1000);
  std::fprintf(stderr, "signal %d\n", status->signal.value_or(0));
  return status->kernel_oom;
}

int check_kernel_oom(const char* procs) {
  if (!(std::ofstream(procs) << getpid() << std::flush)) return 77;
  const auto launcher = agent::make_process_launcher();
  const bool by_hand = taken_by_the_kernel(*launcher, "kill -KILL $$");
  // tail keeps everything behind the last newline, and there is none
  const bool by_kernel = taken_by_the_kernel(*launcher, "exec tail /dev/zero");
  const bool by_hand_again = taken_by_the_kernel(*launcher, "kill -KILL $$");
  return by_hand || !by_kernel || by_hand_again ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view verb = argc > 1 ? argv[1] : "";
  if (verb == "probe") {
    const char* library = std::getenv("FAKE_NVML_LIBRARY");
    std::puts(
        agent::probe_gpus_json(library == nullptr ? "libnvidia-ml.so.none" : library).c_str());
    return 0;
  }
  if (verb == "launch") {
    const auto launcher = agent::make_process_launcher();
    const auto process = launcher->launch(
        {.command = {argv + 2, argv + argc}, .attempt_tag = "file:0123456789abcdef:0:1"});
    std::printf("%d\n", process->pid());
    std::fflush(stdout);
    for (;;) pause();
  }
  if (verb == "oom") return check_kernel_oom(argv[2]);
  return 2;
}
