// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor/captured.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "base/error.hpp"
#include "base/unique_handle.hpp"

namespace batchsweep::cli {
namespace {

constexpr std::size_t kMostOutput = 64 * 1024;

struct FileActions {
  posix_spawn_file_actions_t actions;
  FileActions() { posix_spawn_file_actions_init(&actions); }
  ~FileActions() { posix_spawn_file_actions_destroy(&actions); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
};
struct SpawnAttributes {
  posix_spawnattr_t attributes;
  SpawnAttributes() {
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  }
  ~SpawnAttributes() { posix_spawnattr_destroy(&attributes); }
  SpawnAttributes(const SpawnAttributes&) = delete;
  SpawnAttributes& operator=(const SpawnAttributes&) = delete;
};

std::vector<std::string> environment_with(const std::map<std::string, std::string>& env) {
  std::vector<std::string> lines;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string line = *entry;
    if (!env.contains(line.substr(0, line.find('=')))) lines.push_back(line);
  }
  for (const auto& [name, value] : env) lines.push_back(name + "=" + value);
  return lines;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

// 0: not started.
pid_t spawn(std::vector<std::string> command, const std::map<std::string, std::string>& env,
            int output) {
  FileActions files;
  posix_spawn_file_actions_addopen(&files.actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files.actions, output, 1);
  posix_spawn_file_actions_adddup2(&files.actions, output, 2);
  SpawnAttributes own_group;
  std::vector<std::string> lines = environment_with(env);
  std::vector<char*> arguments = pointers(command), environment = pointers(lines);
  pid_t pid = 0;
  const int error = posix_spawnp(&pid, arguments[0], &files.actions, &own_group.attributes,
                                 arguments.data(), environment.data());
  return error == 0 ? pid : 0;
}

void drain(int fd, std::string& output) {
  char buffer[4096];
  for (ssize_t got = 0; (got = read(fd, buffer, sizeof buffer)) > 0;) {
    const std::size_t room = kMostOutput - std::min(kMostOutput, output.size());
    output.append(buffer, std::min(room, static_cast<std::size_t>(got)));
  }
}

}  // namespace

Captured capture(const std::vector<std::string>& command, Duration limit,
                 const std::map<std::string, std::string>& env) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) throw_errno("cannot make a pipe", errno);
  UniqueFd read_end(ends[0]), write_end(ends[1]);
  Captured captured;
  const Instant start = system_clock().now();
  const pid_t pid = spawn(command, env, write_end.get());
  write_end.reset();
  if (pid == 0) return captured;
  captured.started = true;

  int status = 0;
  // Its end is what counts, not the end of its output: a child left behind may hold the pipe open.
  while (waitpid(pid, &status, WNOHANG) == 0) {
    pollfd waiting{read_end.get(), POLLIN, 0};
    poll(&waiting, 1, 10);
    drain(read_end.get(), captured.output);
    if (system_clock().now() - start < limit) continue;
    captured.timed_out = true;
    kill(-pid, SIGKILL);
    waitpid(pid, &status, 0);
    break;
  }
  drain(read_end.get(), captured.output);
  captured.seconds = to_seconds(system_clock().now() - start);
  if (WIFEXITED(status)) captured.exit_code = WEXITSTATUS(status);
  return captured;
}

}  // namespace batchsweep::cli
