// SPDX-License-Identifier: Apache-2.0
#include "results/store/publisher.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/log.hpp"
#include "results/store/results_store.hpp"

namespace batchsweep::results {
namespace {

const Duration kShortest = seconds(2);
constexpr int kTimesTheLast = 20;
const Duration kAfterFullDisk = seconds(60);

// In a process group of its own, so that Ctrl-C on the terminal does not end it; its log goes where
// ours goes.
pid_t spawn(const std::string& program, const std::string& path) {
  std::string parent = std::to_string(::getpid());
  std::string words[] = {program, "publish", path, "--parent", parent};
  char* arguments[] = {words[0].data(), words[1].data(), words[2].data(),
                       words[3].data(), words[4].data(), nullptr};
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const int error =
      ::posix_spawn(&child, program.c_str(), &actions, &attributes, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) throw_errno("cannot start " + program + " publish", error);
  return child;
}

}  // namespace

Publisher::Publisher(std::string path, std::string program, std::uint64_t published_bytes)
    : path_(std::move(path)), program_(std::move(program)), published_bytes_(published_bytes) {}

// It must not replace the file when somebody else may hold the lock.
Publisher::~Publisher() { (void)make_room(); }

bool Publisher::make_room() {
  if (child_ == 0) return false;
  ::kill(child_, SIGKILL);
  ::waitpid(child_, nullptr, 0);
  child_ = 0;
  due_ = child_started_ + kAfterFullDisk;
  ::unlink((path_ + ".tmp").c_str());
  return true;
}

void Publisher::poll(Instant now, std::uint64_t journal_bytes) {
  if (!polled_) {
    polled_ = true;
    due_ = journal_bytes == published_bytes_ ? now + kShortest : now;
  }
  if (child_ != 0) collect(now, WNOHANG);
  if (child_ == 0 && now >= due_ && journal_bytes != published_bytes_) start(now, journal_bytes);
}

void Publisher::start(Instant now, std::uint64_t journal_bytes) {
  child_bytes_ = journal_bytes;
  child_started_ = now;
  if (!program_.empty()) {
    child_ = spawn(program_, path_);
    return;
  }
  const Instant begun = system_clock().now();
  publish(path_);
  published_bytes_ = journal_bytes;
  due_ = now + std::max(kShortest, kTimesTheLast * (system_clock().now() - begun));
}

void Publisher::collect(Instant now, int flags) {
  int status = 0;
  const pid_t ended = ::waitpid(child_, &status, flags);
  if (ended == 0) return;
  child_ = 0;
  due_ = now + std::max(kShortest, kTimesTheLast * (now - child_started_));
  if (ended > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0) {
    published_bytes_ = child_bytes_;
  } else {
    log_warn("{} was not brought up to date (the journal beside it has everything)", path_);
  }
}

void Publisher::finish(std::uint64_t journal_bytes) {
  if (child_ != 0) collect(child_started_, 0);
  if (journal_bytes == published_bytes_) return;
  publish(path_);
  published_bytes_ = journal_bytes;
}

}  // namespace batchsweep::results
