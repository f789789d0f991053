// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/error.hpp"
#include "base/log.hpp"
#include "worker/agent/child_environment.hpp"
#include "worker/agent/cpu_set.hpp"
#include "worker/agent/family.hpp"
#include "worker/agent/kept_output.hpp"
#include "worker/agent/launcher.hpp"
#include "worker/agent/process_tree.hpp"
#include "worker/agent/spawn.hpp"

namespace batchsweep::agent {
namespace {

struct Pipe {
  UniqueFd read, write;
};

Pipe make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw_errno("cannot make a pipe", errno);
  Pipe pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
  fcntl(pipe.read.get(), F_SETFL, O_NONBLOCK);
  return pipe;
}

// The input as a file in memory: takes any length at once, and nobody has to wait for a trial that
// does not read.
UniqueFd input_file(std::string_view line) {
  UniqueFd file(memfd_create("batchsweep-input", MFD_CLOEXEC));
  if (!file) throw_errno("cannot make the trial's input", errno);
  const std::string bytes = std::string(line) + '\n';
  if (write(file.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) {
    throw_errno("cannot write the trial's input", errno);
  }
  if (lseek(file.get(), 0, SEEK_SET) != 0) throw_errno("cannot rewind the trial's input", errno);
  return file;
}

// The same for a process that is told more later: the first line lies in the pipe, and the end to
// write the second into stays here.
Pipe input_pipe(std::string_view line) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw_errno("cannot make a pipe", errno);
  Pipe pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
  fcntl(pipe.write.get(), F_SETFL, O_NONBLOCK);
  constexpr std::size_t kUsual = 64 * 1024;
  if (line.size() >= kUsual)
    fcntl(pipe.write.get(), F_SETPIPE_SZ, static_cast<int>(line.size()) + 1);
  const std::string bytes = std::string(line) + '\n';
  if (write(pipe.write.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
    throw IoError("the trial's input does not fit into a pipe");
  return pipe;
}

std::string found_on_path(const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  const char* path = std::getenv("PATH");
  std::string_view rest = path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin";
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    const std::string candidate = fmt::format("{}/{}", rest.substr(0, end), name);
    if (end > 0 && access(candidate.c_str(), X_OK) == 0) return candidate;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  throw IoError(fmt::format("cannot start {}: not found on PATH", name));
}

// The private temp folder of one trial.
class TempFolder {
 public:
  explicit TempFolder(std::string path) : path_(std::move(path)) {
    if (mkdir(path_.c_str(), 0700) != 0) throw_errno("cannot make the temp folder " + path_, errno);
  }
  ~TempFolder() {
    if (rmdir(path_.c_str()) == 0) return;
    std::error_code error;
    std::filesystem::remove_all(path_, error);
    if (error) log_warn("cannot remove the temp folder {}: {}", path_, error.message());
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

class RealProcess final : public Process {
 public:
  RealProcess(std::shared_ptr<Family> family, Spawned spawned, std::string tag, UniqueFd input,
              UniqueFd events, UniqueFd output, std::unique_ptr<TempFolder> temp,
              double own_rss_bytes)
      : family_(std::move(family)),
        pid_(spawned.pid),
        pidfd_(std::move(spawned.pidfd)),
        tag_(std::move(tag)),
        input_(std::move(input)),
        events_(std::move(events)),
        output_(std::move(output)),
        temp_(std::move(temp)),
        own_rss_bytes_(own_rss_bytes) {
    family_->add(pid_, tag_);
  }

  // The owner has long called kill_tree; this is for the paths that an exception took.
  ~RealProcess() override {
    if (!status_) {
      kill(-pid_, SIGKILL);
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, WNOHANG);
    }
    family_->remove(pid_);
  }

  [[nodiscard]] int pid() const override { return pid_; }

  [[nodiscard]] std::vector<int> descriptors() const override {
    std::vector<int> all;
    for (const UniqueFd* fd : {&events_, &output_}) {
      if (*fd) all.push_back(fd->get());
    }
    if (pidfd_ && !status_) all.push_back(pidfd_.get());
    return all;
  }

  [[nodiscard]] std::vector<std::string> take_event_lines() override {
    drain(output_, [&](std::string_view bytes) { kept_.add(bytes); });
    drain(events_, [&](std::string_view bytes) { pending_.append(bytes); });
    std::vector<std::string> lines;
    std::size_t begin = 0;
    for (std::size_t end; (end = pending_.find('\n', begin)) != std::string::npos;
         begin = end + 1) {
      lines.push_back(pending_.substr(begin, end - begin));
    }
    pending_.erase(0, begin);
    // No event is so long: hand it over as it is, and nobody will understand it.
    if (pending_.size() > kLongestLine) lines.emplace_back().swap(pending_);
    return lines;
  }
  [[nodiscard]] std::string partial_line() const override { return pending_; }
  [[nodiscard]] std::string output() const override { return kept_.text(); }

  void give_line(std::string_view line) override {
    const std::string bytes = std::string(line) + '\n';
    if (input_ && write(input_.get(), bytes.data(), bytes.size()) < 0)
      log_warn("process {} does not read its second line: {}", pid_, std::strerror(errno));
    input_.reset();
  }

  [[nodiscard]] std::optional<ExitStatus> poll_exit() override {
    if (status_) return status_;
    siginfo_t info{};
    if (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
        info.si_pid == 0) {
      return std::nullopt;
    }
    // While the leader is a zombie its number, which is the group's as well, cannot be anybody
    // else's.
    kill(-pid_, SIGKILL);
    int raw = 0;
    rusage usage{};
    if (wait4(pid_, &raw, 0, &usage) != pid_) return std::nullopt;
    status_ = ExitStatus{};
    if (WIFEXITED(raw)) status_->exit_code = WEXITSTATUS(raw);
    if (WIFSIGNALED(raw)) status_->signal = WTERMSIG(raw);
    status_->kernel_oom = status_->signal == SIGKILL && !killed_ && family_->oom().take_one();
    const double rss_peak_bytes = static_cast<double>(usage.ru_maxrss) * 1024;
    if (rss_peak_bytes > own_rss_bytes_) status_->rss_peak_bytes = rss_peak_bytes;
    return status_;
  }

  bool kill_tree() override {
    if (gone_) return true;
    if (!poll_exit()) {
      killed_ = true;
      kill(-pid_, SIGKILL);
      kill(pid_, SIGKILL);
      if (!poll_exit()) return false;
    }
    if (!nothing_left()) return false;
    gone_ = true;
    family_->remove(pid_);
    return true;
  }

 private:
  static constexpr std::size_t kLongestLine = std::size_t{64} << 20;

  bool nothing_left() {
    const bool group_left = kill(-pid_, SIGKILL) == 0;
    if (!killed_ && !group_left && family_->others_than(pid_)) {
      family_->look_later();
      return true;
    }
    if (family_->kill_orphans(pid_) > 0 || group_left) return false;
    if (!killed_) return true;
    // Killed in the middle of its work: make sure, also of what no parent leads to.
    const auto tagged = tagged_processes(kAttemptVariable, tag_);
    for (const pid_t pid : tagged) kill(pid, SIGKILL);
    return tagged.empty();
  }

  static void drain(UniqueFd& fd, const auto& sink) {
    char buffer[16 * 1024];
    // A bound, so that a trial that never stops writing cannot keep the agent; a pipe holds less
    // than that.
    for (int rounds = 0; fd && rounds < 256; ++rounds) {
      const ssize_t n = read(fd.get(), buffer, sizeof buffer);
      if (n > 0) {
        sink(std::string_view(buffer, static_cast<std::size_t>(n)));
      } else if (n == 0) {
        fd.reset();  // every writer is gone
      } else if (errno != EINTR) {
        return;
      }
    }
  }

  std::shared_ptr<Family> family_;
  pid_t pid_;
  UniqueFd pidfd_;
  std::string tag_;
  UniqueFd input_;  // open until the second line
  UniqueFd events_, output_;
  std::unique_ptr<TempFolder> temp_;
  double own_rss_bytes_;
  std::string pending_;
  KeptOutput kept_;
  std::optional<ExitStatus> status_;
  bool killed_ = false, gone_ = false;
};

double own_peak_rss_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024;
}

class ProcessLauncher final : public Launcher {
 public:
  ProcessLauncher() {
    become_subreaper();
    widen_cpu_set_under_mpirun();
  }
  ~ProcessLauncher() override {
    if (!temp_root_.empty()) rmdir(temp_root_.c_str());
  }
  ProcessLauncher(const ProcessLauncher&) = delete;
  ProcessLauncher& operator=(const ProcessLauncher&) = delete;

  [[nodiscard]] std::unique_ptr<Process> launch(const LaunchRequest& request) override {
    if (request.command.empty()) throw IoError("cannot start a trial: its command is empty");
    Pipe events = make_pipe(), output = make_pipe();
    Pipe input = request.second_line ? input_pipe(request.input_line)
                                     : Pipe{input_file(request.input_line), UniqueFd()};
    auto temp = std::make_unique<TempFolder>(next_temp_folder());
    SpawnRequest spawn_request{.program = found_on_path(request.command.front()),
                               .arguments = request.command,
                               .environment = environment_for(request, temp->path()),
                               .standard_input = input.read.get(),
                               .output = output.write.get(),
                               .events = events.write.get(),
                               .cpus = cpus_of(request.cpus)};
    family_->oom().refresh();
    Spawned spawned = spawn(spawn_request);
    return std::make_unique<RealProcess>(
        family_, std::move(spawned), request.attempt_tag, std::move(input.write),
        std::move(events.read), std::move(output.read), std::move(temp), own_peak_rss_bytes());
  }

  void tend() override { family_->tend(); }

 private:
  std::string next_temp_folder() {
    if (temp_root_.empty()) {
      const std::string root = temp_root(identity_);
      if (mkdir(root.c_str(), 0700) != 0 && errno != EEXIST)
        throw_errno("cannot make the temp folder " + root, errno);
      temp_root_ = root;
    }
    return fmt::format("{}/{}", temp_root_, ++launches_);
  }

  [[nodiscard]] std::vector<std::string> environment_for(const LaunchRequest& request,
                                                         const std::string& temp) const {
    std::vector<std::string> entries;
    entries.reserve(base_.size() + request.env.size() + 5);
    const auto add = [&](std::string_view name, std::string_view value) {
      entries.push_back(std::string(name) + '=' + std::string(value));
    };
    for (const auto& [name, value] : base_) {
      if (!request.env.contains(name)) add(name, value);
    }
    for (const auto& [name, value] : scrubbed(request.env)) add(name, value);
    add("TMPDIR", temp);
    add("CUDA_VISIBLE_DEVICES", request.visible_devices);
    add("BATCHSWEEP_EVENT_FD", std::to_string(kEventFdOfChild));
    add(kAttemptVariable, request.attempt_tag);
    add(kAgentVariable, identity_);
    return entries;
  }

  std::shared_ptr<Family> family_ = std::make_shared<Family>();
  Environment base_ = scrubbed(own_environment());
  std::string identity_ = own_identity();
  std::string temp_root_;
  std::uint64_t launches_ = 0;
};

}  // namespace

std::unique_ptr<Launcher> make_process_launcher() { return std::make_unique<ProcessLauncher>(); }

}  // namespace batchsweep::agent
