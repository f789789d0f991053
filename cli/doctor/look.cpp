// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/statvfs.h>
#include <sys/timex.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <vector>

#include "base/clock.hpp"
#include "base/unique_handle.hpp"
#include "cli/doctor/machine_checks.hpp"

namespace batchsweep::cli {
namespace {

std::string file_text(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// Median of a few appends: the first one often pays for the file's creation.
double sync_seconds(int fd, int& error) {
  std::vector<double> times;
  for (int i = 0; i < 5; ++i) {
    const Instant start = system_clock().now();
    if (write(fd, "doctor\n", 7) != 7 || fdatasync(fd) != 0) {
      error = errno;
      return 0;
    }
    times.push_back(to_seconds(system_clock().now() - start));
  }
  std::ranges::sort(times);
  return times[times.size() / 2];
}

}  // namespace

std::optional<std::uint64_t> look_shared_memory() {
  struct statvfs facts {};
  if (statvfs("/dev/shm", &facts) != 0) return std::nullopt;
  return static_cast<std::uint64_t>(facts.f_blocks) * facts.f_frsize;
}

CpuFacts look_cpus() {
  CpuFacts facts;
  facts.online = facts.allowed = sysconf(_SC_NPROCESSORS_ONLN);
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) facts.allowed = CPU_COUNT(&set);
  facts.quota = parse_cpu_quota(file_text("/sys/fs/cgroup/cpu.max"));
  return facts;
}

FolderFacts look_folder(const std::string& path) {
  FolderFacts facts;
  facts.path = path;
  struct statvfs disk {};
  if (statvfs(path.c_str(), &disk) == 0)
    facts.free_bytes = static_cast<std::uint64_t>(disk.f_bavail) * disk.f_frsize;
  std::string name = path + "/.batchsweep-doctor-XXXXXX";
  UniqueFd fd(mkostemp(name.data(), O_CLOEXEC));
  if (!fd) {
    facts.create_error = errno;
    return facts;
  }
  if (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) facts.lock_error = errno;
  facts.sync_s = sync_seconds(fd.get(), facts.sync_error);
  unlink(name.c_str());
  return facts;
}

ClockFacts look_clock() {
  ClockFacts facts;
  facts.utc_s =
      std::chrono::duration_cast<std::chrono::seconds>(system_clock().utc_now().time_since_epoch())
          .count();
  timex state{};
  const int answer = adjtimex(&state);
  if (answer >= 0) facts.synchronised = answer != TIME_ERROR && (state.status & STA_UNSYNC) == 0;
  return facts;
}

}  // namespace batchsweep::cli
