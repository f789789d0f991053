// SPDX-License-Identifier: Apache-2.0
// F.h5.lock: at most one writer of a results file, on this host or another, also on file systems
// whose locks do not work. Knows nothing of what is protected.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.hpp"
#include "base/unique_handle.hpp"

namespace batchsweep::results {

// Who holds it. A process id means something only within one boot and one process namespace.
struct LockHolder {
  std::string host, boot_id, pid_namespace;
  std::int64_t pid = 0;
  std::int64_t start_time = 0;  // of the process, in the kernel's ticks since boot
  std::string slurm_job_id;
  std::int64_t slurm_restart_count = 0;
  std::int64_t counter = 0;  // bumped while the holder lives
  bool operator==(const LockHolder&) const = default;
};
[[nodiscard]] LockHolder this_process();
[[nodiscard]] std::string lock_text(const LockHolder& holder);

struct LockPatience {
  Duration stale_after = seconds(15);  // so long without a bump: the holder is gone
  Duration look_every = seconds(0.2);
};

// What the lock of a results file tells without taking it.
enum class LockState {
  kFree,    // nobody holds it
  kHeld,    // by a living process
  kDead,    // by one that is gone
  kUnsure,  // by one on another host: only its counter can tell
};
struct LockView {
  LockState state = LockState::kFree;
  std::optional<LockHolder> holder;  // absent: the lock names none
};
[[nodiscard]] LockView look_at_lock(const std::string& results_path);
// The same; where only the counter can tell, watches it for up to stale_after.
[[nodiscard]] LockView watch_lock(const std::string& results_path,
                                  const LockPatience& patience = {});
// "host n1, process 12", for messages.
[[nodiscard]] std::string name_of(const std::optional<LockHolder>& holder);
[[nodiscard]] std::optional<LockHolder> parse_lock(const std::string& text);

class LockFile {
 public:
  // Throws ResultsFileError naming the holder where a living sweep holds it; waits up to
  // stale_after where only its counter can tell.
  LockFile(const std::string& results_path, const LockHolder& self,
           const LockPatience& patience = {});
  ~LockFile();
  LockFile(const LockFile&) = delete;
  LockFile& operator=(const LockFile&) = delete;

  // Bumps the counter every 5 s. Throws IoError where somebody else has taken the lock over: this
  // process was taken for dead.
  void beat(Instant now);
  [[nodiscard]] bool still_ours() const;
  void release();

 private:
  void take(const LockPatience& patience);
  [[nodiscard]] bool try_create();
  void take_over(const std::string& seen);
  void write_own(const std::string& path);

  std::string path_, results_path_;
  LockHolder self_;
  UniqueFd fd_;  // of the lock's file: a name taken over by another is another file
  bool beaten_ = false;
  Instant last_beat_{};
};

}  // namespace batchsweep::results
