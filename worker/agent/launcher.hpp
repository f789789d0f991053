// SPDX-License-Identifier: Apache-2.0
// Starts trial processes: the agent's only door to the world of processes. Forms: ProcessLauncher (real), NullLauncher (benchmarks:
// ends at once), fakes in tests; a nursery that forks warmed-up processes can come later.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "sweeps/sweep_spec.hpp"

namespace batchsweep::agent {

struct LaunchRequest {
  std::vector<std::string> command;
  std::string input_line;  // written to standard input, with newline; then closed
  bool second_line = false;  // it stays open for Process::give_line
  std::string attempt_tag;  // BATCHSWEEP_ATTEMPT: "<file id>:<trial>:<repeat>:<n>:<rank>"
  std::map<std::string, std::string> env;  // on top of the scrubbed environment
  std::string visible_devices;             // CUDA_VISIBLE_DEVICES; "" = none visible
  std::string cpus;                        // cores that it may use, "0-3,8"; "" = ours
};

struct ExitStatus {
  std::optional<int> exit_code, signal;
  bool kernel_oom = false;  // the kernel's out-of-memory killer took it (the cgroup's counter says so)
  // Peak resident set; absent where it cannot be told from ours, whose memory the process shared until exec.
  std::optional<double> rss_peak_bytes;
  bool operator==(const ExitStatus&) const = default;
};

class Process {
 public:
  virtual ~Process() = default;
  [[nodiscard]] virtual int pid() const = 0;
  // Descriptors to poll: event pipe, output pipes, pidfd.
  [[nodiscard]] virtual std::vector<int> descriptors() const = 0;
  // Whole lines of events read so far; the last piece without a newline comes as partial_line() once the process is gone.
  [[nodiscard]] virtual std::vector<std::string> take_event_lines() = 0;
  [[nodiscard]] virtual std::string partial_line() const = 0;
  // Non-blocking; nullopt while it lives. Ask for the last events after it. Once it has a status, descendants are hunted down by
  // kill_tree.
  [[nodiscard]] virtual std::optional<ExitStatus> poll_exit() = 0;
  // Its second line of standard input, with newline; then that is closed. Whether anybody reads it shows otherwise.
  virtual void give_line(std::string_view) {}
  // SIGKILL to the process group and everything that descends from it or carries its tag; true when nothing is left.
  virtual bool kill_tree() = 0;
  // First and last 32 KiB of stdout and stderr.
  [[nodiscard]] virtual std::string output() const = 0;
};

class Launcher {
 public:
  virtual ~Launcher() = default;
  // Throws IoError: the program is not there, no more processes ... (phase launch).
  [[nodiscard]] virtual std::unique_ptr<Process> launch(const LaunchRequest& request) = 0;
  // Now and then: descendants that outlived a trial which ended well are looked for.
  virtual void tend() {}
};

// The real one, for the main thread; the calling process becomes a subreaper. Scrubs the environment, own session, dies with the agent,
// private temp folder (TMPDIR), core size 0.
[[nodiscard]] std::unique_ptr<Launcher> make_process_launcher();

// Starts no process: each rank of a rehearsal ends at once, as its script says. For benchmarks of everything else; taken only in a rehearsal
// and only when BATCHSWEEP_NULL_LAUNCHER=1 (docs/architecture.md).
[[nodiscard]] std::unique_ptr<Launcher> make_null_launcher();

// Kills processes on this host whose agent is dead (BATCHSWEEP_AGENT names it), and removes its temp folders; says what it killed, one
// line each. Trials of living agents, of whatever sweep, are left alone.
[[nodiscard]] std::vector<std::string> kill_leftovers();

}  // namespace batchsweep::agent
