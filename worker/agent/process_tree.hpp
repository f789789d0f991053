// SPDX-License-Identifier: Apache-2.0
// Whose process is that: what /proc tells about descendants, tags and dead agents. Linux only;
// knows no trial and no message.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace batchsweep::agent {

inline constexpr std::string_view kAttemptVariable = "BATCHSWEEP_ATTEMPT";
inline constexpr std::string_view kAgentVariable = "BATCHSWEEP_AGENT";

// Orphaned descendants become children of the process that calls this: so nothing a trial leaves
// behind gets out of sight. Called by make_process_launcher.
void become_subreaper();

struct ProcessStat {
  char state = '?';  // 'Z' zombie
  pid_t parent = 0, group = 0, session = 0;
  unsigned long long start_ticks = 0;  // since boot: tells two owners of one pid apart
};
[[nodiscard]] std::optional<ProcessStat> read_stat(pid_t pid);

// Value of a variable in the environment that the process was started with; nullopt: not there, not
// readable, or the process is gone.
[[nodiscard]] std::optional<std::string> environment_of(pid_t pid, std::string_view variable);

// Children of the calling process, adopted ones included, zombies included.
[[nodiscard]] std::vector<pid_t> own_children();
// Living processes (but not ourselves) whose environment has variable=value.
[[nodiscard]] std::vector<pid_t> tagged_processes(std::string_view variable,
                                                  std::string_view value);

// "<boot>-<pid namespace>-<pid>-<start>": names one process for good, on every host.
[[nodiscard]] std::string own_identity();
// Only for an identity of this boot and this pid namespace can it be told; nullopt for others,
// which are none of our business.
[[nodiscard]] std::optional<bool> identity_alive(std::string_view identity);

// Where the private temp folders of an agent's trials are: "<TMPDIR or
// /tmp>/batchsweep-<identity>".
[[nodiscard]] std::string temp_root(std::string_view identity);

}  // namespace batchsweep::agent
