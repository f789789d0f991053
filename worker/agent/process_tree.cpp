// SPDX-License-Identifier: Apache-2.0
#include "worker/agent/process_tree.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>

#include "base/error.hpp"
#include "base/unique_handle.hpp"
#include "worker/agent/launcher.hpp"

namespace batchsweep::agent {
namespace {

std::string read_proc(const std::string& path) {
  std::string text;
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return text;
  for (;;) {
    const std::size_t size = text.size();
    text.resize(size + 8192);
    const ssize_t n = read(fd.get(), text.data() + size, 8192);
    text.resize(size + static_cast<std::size_t>(n > 0 ? n : 0));
    if (n <= 0) return text;
  }
}

void for_each_process(const std::function<void(pid_t)>& visit) {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir("/proc"), closedir);
  if (!folder) return;
  while (const dirent* entry = readdir(folder.get())) {
    const std::string_view name = entry->d_name;
    pid_t pid = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error == std::errc{} && end == name.data() + name.size()) visit(pid);
  }
}

// The two parts of an identity that the whole machine, or the container, shares.
std::string here() {
  static const std::string text = [] {
    const std::string boot = read_proc("/proc/sys/kernel/random/boot_id").substr(0, 8);
    struct stat names {};
    const bool known = stat("/proc/self/ns/pid", &names) == 0;
    return fmt::format("{}-{}", boot.empty() ? "boot" : boot, known ? names.st_ino : 0);
  }();
  return text;
}

constexpr std::string_view kTempPrefix = "batchsweep-";

std::filesystem::path temp_base() {
  const char* base = std::getenv("TMPDIR");
  return base != nullptr && *base != '\0' ? base : "/tmp";
}

// Temp folders of agents that are gone; best effort.
void remove_dead_temp_folders() {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(temp_base(), ignored)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with(kTempPrefix)) continue;
    if (identity_alive(std::string_view(name).substr(kTempPrefix.size())) == false) {
      std::filesystem::remove_all(entry.path(), ignored);
    }
  }
}

}  // namespace

void become_subreaper() {
  if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) throw_errno("prctl(PR_SET_CHILD_SUBREAPER)", errno);
}

std::optional<ProcessStat> read_stat(pid_t pid) {
  const std::string text = read_proc(fmt::format("/proc/{}/stat", pid));
  // The second field is the program's name in parentheses and may itself hold spaces and
  // parentheses.
  const std::size_t name_end = text.rfind(") ");
  if (name_end == std::string::npos) return std::nullopt;
  ProcessStat stat;
  stat.state = text[name_end + 2];
  const char* at = text.c_str() + name_end + 3;
  const auto next = [&] {
    char* end = nullptr;
    const auto value = std::strtoull(at, &end, 10);
    at = end;
    return value;
  };
  stat.parent = static_cast<pid_t>(next());
  stat.group = static_cast<pid_t>(next());
  stat.session = static_cast<pid_t>(next());
  constexpr int kBetween = 15;  // tty ... itrealvalue: fields 7 to 21 of proc(5)
  for (int i = 0; i < kBetween; ++i) (void)next();
  stat.start_ticks = next();
  return stat;
}

std::optional<std::string> environment_of(pid_t pid, std::string_view variable) {
  const std::string text = '\0' + read_proc(fmt::format("/proc/{}/environ", pid));
  const std::string wanted = fmt::format("{}{}=", '\0', variable);
  const std::size_t at = text.find(wanted);
  if (at == std::string::npos) return std::nullopt;
  const std::size_t begin = at + wanted.size();
  return text.substr(begin, text.find('\0', begin) - begin);
}

std::vector<pid_t> own_children() {
  std::vector<pid_t> children;
  siginfo_t ignored{};
  // Most often there is nobody, and that is told by one call.
  if (waitid(P_ALL, 0, &ignored, WEXITED | WNOHANG | WNOWAIT) != 0 && errno == ECHILD)
    return children;
  const std::string path = fmt::format("/proc/self/task/{}/children", getpid());
  if (access(path.c_str(), R_OK) == 0) {
    const std::string text = read_proc(path);
    const char* at = text.c_str();
    char* end = nullptr;
    for (long pid = std::strtol(at, &end, 10); end != at; pid = std::strtol(at, &end, 10)) {
      children.push_back(static_cast<pid_t>(pid));
      at = end;
    }
  } else {  // a kernel without that file
    for_each_process([&](pid_t pid) {
      const auto stat = read_stat(pid);
      if (stat && stat->parent == getpid()) children.push_back(pid);
    });
  }
  return children;
}

std::vector<pid_t> tagged_processes(std::string_view variable, std::string_view value) {
  std::vector<pid_t> found;
  for_each_process([&](pid_t pid) {
    if (pid != getpid() && environment_of(pid, variable) == value) found.push_back(pid);
  });
  return found;
}

std::string own_identity() {
  const auto stat = read_stat(getpid());
  return fmt::format("{}-{}-{}", here(), getpid(), stat ? stat->start_ticks : 0);
}

std::optional<bool> identity_alive(std::string_view identity) {
  const std::string prefix = here() + '-';
  if (!identity.starts_with(prefix)) return std::nullopt;
  const std::string rest(identity.substr(prefix.size()));
  char* end = nullptr;
  const long pid = std::strtol(rest.c_str(), &end, 10);
  if (pid <= 0 || *end != '-') return std::nullopt;
  const auto stat = read_stat(static_cast<pid_t>(pid));
  return stat && stat->state != 'Z' && std::to_string(stat->start_ticks) == end + 1;
}

std::string temp_root(std::string_view identity) {
  return temp_base() / fmt::format("{}{}", kTempPrefix, identity);
}

std::vector<std::string> kill_leftovers() {
  std::vector<std::string> told;
  for_each_process([&](pid_t pid) {
    if (pid == getpid()) return;
    const auto agent = environment_of(pid, kAgentVariable);
    if (!agent || identity_alive(*agent) != false) return;
    const std::string attempt = environment_of(pid, kAttemptVariable).value_or("?");
    const bool killed = kill(pid, SIGKILL) == 0;
    told.push_back(fmt::format("{} process {} that a dead sweep left behind (attempt {})",
                               killed ? "killed" : "could not kill", pid, attempt));
  });
  remove_dead_temp_folders();
  return told;
}

}  // namespace batchsweep::agent
