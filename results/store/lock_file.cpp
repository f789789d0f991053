// SPDX-License-Identifier: Apache-2.0
#include "results/store/lock_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <thread>

#include "base/error.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "results/store/posix_file.hpp"

namespace batchsweep::results {
namespace {

std::string text_of(const std::string& path) {
  try {
    // /proc files have no size, so they are read in one piece.
    const UniqueFd fd = open_file(path, O_RDONLY);
    std::string bytes(4096, '\0');
    const ssize_t n = ::read(fd.get(), bytes.data(), bytes.size());
    bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
    while (!bytes.empty() && bytes.back() == '\n') bytes.pop_back();
    return bytes;
  } catch (const IoError&) {
    return "";
  }
}

std::string link_target(const char* path) {
  char target[256];
  const ssize_t n = ::readlink(path, target, sizeof target);
  return n < 0 ? "" : std::string(target, static_cast<std::size_t>(n));
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Start time of a process that lives; nullopt: there is none, or only a zombie.
std::optional<std::int64_t> start_time_of(std::int64_t pid) {
  const std::string stat = text_of(fmt::format("/proc/{}/stat", pid));
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream fields(stat.substr(name_end + 1));
  std::string field;
  for (int number = 3; number <= 22 && fields >> field; ++number) {
    if (number == 3 && (field == "Z" || field == "X")) return std::nullopt;
  }
  return std::strtoll(field.c_str(), nullptr, 10);
}

enum class Judgement { kAlive, kGone, kWatch };

Judgement judge(const LockHolder& holder, const LockHolder& self) {
  const bool same_job = !self.slurm_job_id.empty() && holder.slurm_job_id == self.slurm_job_id;
  if (same_job && self.slurm_restart_count > holder.slurm_restart_count) return Judgement::kGone;
  if (holder.host != self.host) return Judgement::kWatch;
  if (holder.boot_id != self.boot_id) return Judgement::kGone;  // the host was started anew since
  if (holder.pid_namespace != self.pid_namespace) return Judgement::kWatch;
  return start_time_of(holder.pid) == holder.start_time ? Judgement::kAlive : Judgement::kGone;
}

LockState to_state(Judgement judgement) {
  switch (judgement) {
    case Judgement::kAlive:
      return LockState::kHeld;
    case Judgement::kGone:
      return LockState::kDead;
    case Judgement::kWatch:
      return LockState::kUnsure;
  }
  return LockState::kUnsure;
}

[[noreturn]] void throw_locked(const std::string& results_path,
                               const std::optional<LockHolder>& holder) {
  throw ResultsFileError(
      fmt::format("{}: locked by a running sweep ({}): wait for it, or end it with \"batchsweep "
                  "cancel {}\"; remove {}.lock only if that process is surely gone",
                  results_path, name_of(holder), shell_word(results_path), results_path));
}

}  // namespace

LockHolder this_process() {
  LockHolder self;
  char host[256] = "";
  if (::gethostname(host, sizeof host - 1) == 0) self.host = host;
  self.boot_id = text_of("/proc/sys/kernel/random/boot_id");
  self.pid_namespace = link_target("/proc/self/ns/pid");
  self.pid = ::getpid();
  self.start_time = start_time_of(self.pid).value_or(0);
  self.slurm_job_id = environment("SLURM_JOB_ID");
  self.slurm_restart_count = std::strtoll(environment("SLURM_RESTART_COUNT").c_str(), nullptr, 10);
  return self;
}

std::string lock_text(const LockHolder& holder) {
  const Json json = {{"host", holder.host},
                     {"boot_id", holder.boot_id},
                     {"pid_namespace", holder.pid_namespace},
                     {"pid", holder.pid},
                     {"start_time", holder.start_time},
                     {"slurm_job_id", holder.slurm_job_id},
                     {"slurm_restart_count", holder.slurm_restart_count},
                     {"counter", holder.counter}};
  return dump(json) + "\n";
}

std::optional<LockHolder> parse_lock(const std::string& text) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  try {
    return LockHolder{.host = json.at("host"),
                      .boot_id = json.at("boot_id"),
                      .pid_namespace = json.value("pid_namespace", ""),
                      .pid = json.at("pid"),
                      .start_time = json.at("start_time"),
                      .slurm_job_id = json.value("slurm_job_id", ""),
                      .slurm_restart_count = json.value("slurm_restart_count", std::int64_t{0}),
                      .counter = json.value("counter", std::int64_t{0})};
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

std::string name_of(const std::optional<LockHolder>& holder) {
  return holder ? fmt::format("host {}, process {}", holder->host, holder->pid)
                : "not named in the lock";
}

LockView look_at_lock(const std::string& results_path) {
  const std::string path = results_path + ".lock";
  if (!file_exists(path)) return {};
  const auto holder = parse_lock(text_of(path));
  return {holder ? to_state(judge(*holder, this_process())) : LockState::kUnsure, holder};
}

LockView watch_lock(const std::string& results_path, const LockPatience& patience) {
  const LockView first = look_at_lock(results_path);
  const Instant until = system_clock().now() + patience.stale_after;
  for (LockView view = first;; view = look_at_lock(results_path)) {
    if (view.state != LockState::kUnsure) return view;
    if (view.holder != first.holder) return {LockState::kHeld, view.holder};  // it was bumped
    if (system_clock().now() >= until) return {LockState::kDead, view.holder};
    std::this_thread::sleep_for(patience.look_every);
  }
}

LockFile::LockFile(const std::string& results_path, const LockHolder& self,
                   const LockPatience& patience)
    : path_(results_path + ".lock"), results_path_(results_path), self_(self) {
  take(patience);
}

LockFile::~LockFile() { release(); }

void LockFile::release() {
  if (still_ours()) ::unlink(path_.c_str());
  fd_.reset();
}

bool LockFile::still_ours() const {
  struct stat own {
  }, named{};
  return fd_ && ::fstat(fd_.get(), &own) == 0 && ::stat(path_.c_str(), &named) == 0 &&
         own.st_ino == named.st_ino && own.st_dev == named.st_dev;
}

void LockFile::take(const LockPatience& patience) {
  std::optional<std::string> watched;
  Instant watched_since{};
  for (;;) {
    if (try_create()) return;
    const std::string seen = text_of(path_);
    if (seen.empty() && !file_exists(path_)) continue;
    const auto holder = parse_lock(seen);
    const Judgement judgement = holder ? judge(*holder, self_) : Judgement::kWatch;
    if (judgement == Judgement::kAlive) throw_locked(results_path_, holder);
    const Instant now = system_clock().now();
    const bool still = watched == seen && now - watched_since >= patience.stale_after;
    if (judgement == Judgement::kGone || still) {
      take_over(seen);
      return;
    }
    if (watched && *watched != seen) throw_locked(results_path_, holder);  // it was bumped: alive
    if (!watched) {
      watched = seen;
      watched_since = now;
    }
    std::this_thread::sleep_for(patience.look_every);
  }
}

void LockFile::write_own(const std::string& path) {
  fd_ = open_file(path, O_RDWR | O_CREAT | O_TRUNC);
  try {
    write_all(fd_.get(), lock_text(self_), path);
    sync_file(fd_.get(), path);
  } catch (...) {
    ::unlink(path.c_str());
    throw;
  }
}

// link() fails where the name exists, on every file system; O_EXCL does not on some old NFS.
bool LockFile::try_create() {
  if (file_exists(path_)) return false;
  const std::string own = fmt::format("{}.{}.{}", path_, self_.host, self_.pid);
  write_own(own);
  const int rc = ::link(own.c_str(), path_.c_str());
  const int error = errno;
  ::unlink(own.c_str());
  if (rc == 0) return true;
  fd_.reset();
  if (error != EEXIST) throw_errno("cannot create " + path_, error);
  return false;
}

// Two that both saw the same dead holder: only the one that gets the guard may replace it, and only
// while it is still that holder.
void LockFile::take_over(const std::string& seen) {
  const std::string guard = path_ + ".takeover";
  const std::string own = fmt::format("{}.{}.{}", path_, self_.host, self_.pid);
  if (::mkdir(guard.c_str(), 0700) != 0) {
    if (errno != EEXIST) throw_errno("cannot create " + guard, errno);
    throw ResultsFileError(
        fmt::format("{}: another start is taking over the lock of a dead sweep: try again; remove "
                    "{} if nothing else runs",
                    results_path_, guard));
  }
  const bool same = text_of(path_) == seen;
  if (same) {
    try {
      write_own(own);
      rename_file(own, path_);
    } catch (...) {
      ::rmdir(guard.c_str());
      throw;
    }
  }
  ::rmdir(guard.c_str());
  if (!same) throw_locked(results_path_, parse_lock(text_of(path_)));
}

void LockFile::beat(Instant now) {
  if (beaten_ && now - last_beat_ < seconds(5)) return;
  beaten_ = true;
  last_beat_ = now;
  if (!still_ours()) {
    throw IoError(
        results_path_ +
        ": another sweep has taken over the lock (this one did not move for 15 s): this one stops");
  }
  ++self_.counter;
  const std::string text = lock_text(self_);
  if (::pwrite(fd_.get(), text.data(), text.size(), 0) < 0)
    throw_errno("cannot write " + path_, errno);
}

}  // namespace batchsweep::results
