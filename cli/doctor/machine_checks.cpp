// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor/machine_checks.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <sstream>

#include "base/units.hpp"

namespace batchsweep::cli {
namespace {

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;
constexpr double kSlowSync_s = 0.02;
constexpr std::int64_t kBeforeThisProgram_s = 1'735'689'600;  // 2025-01-01

std::string bytes(std::uint64_t value) { return format_bytes(static_cast<double>(value)); }

}  // namespace

Finding judge_shared_memory(std::optional<std::uint64_t> size_bytes) {
  Finding finding{"shared memory", Level::kOk, "", ""};
  if (!size_bytes) {
    finding.level = Level::kError;
    finding.message = "/dev/shm is not there: MPI and NCCL need it";
    finding.cure = "mount a tmpfs at /dev/shm";
    return finding;
  }
  finding.message = "/dev/shm holds " + bytes(*size_bytes);
  if (*size_bytes < kGiB) {
    finding.level = Level::kWarning;
    finding.message += ": trials over several GPUs can die there by SIGBUS";
    finding.cure = "give it 1 GiB or more (containers: --shm-size=8g, or --ipc=host)";
  }
  return finding;
}

std::optional<double> parse_cpu_quota(const std::string& cpu_max) {
  std::istringstream words(cpu_max);
  double quota = 0, period = 0;
  if (!(words >> quota >> period) || period <= 0) return std::nullopt;
  return quota / period;
}

Finding judge_cpus(const CpuFacts& facts) {
  Finding finding{"cpu binding", Level::kOk, "", ""};
  finding.message = fmt::format("{} of {} cores may be used", facts.allowed, facts.online);
  if (facts.allowed < facts.online) {
    finding.level = Level::kWarning;
    finding.message += ": this process is bound";
    finding.cure =
        "under mpirun add --bind-to none; under Slurm ask for the cores (--cpus-per-task)";
  }
  if (facts.quota && *facts.quota < static_cast<double>(facts.allowed)) {
    finding.level = Level::kWarning;
    finding.message += fmt::format("; the control group grants the time of {:.1f}", *facts.quota);
    finding.cure =
        fmt::format("set threads = {} in [[device]] of kind cpu, or raise the container's limit",
                    std::max(1.0, std::floor(*facts.quota)));
  }
  return finding;
}

Finding judge_recording(const FolderFacts& facts) {
  Finding finding{"recording", Level::kOk, "", ""};
  if (facts.create_error != 0) {
    finding.level = Level::kError;
    finding.message =
        fmt::format("cannot write in {}: {}", facts.path, std::strerror(facts.create_error));
    finding.cure = "go to a folder that you may write, or name one with --results";
  } else if (facts.sync_error != 0) {
    finding.level = Level::kError;
    finding.message =
        fmt::format("fdatasync in {} fails: {}", facts.path, std::strerror(facts.sync_error));
    finding.cure = "keep the results on another file system (--results)";
  } else {
    finding.message = fmt::format("a record is durable in {} here", format_seconds(facts.sync_s));
    if (facts.sync_s > kSlowSync_s) {
      finding.level = Level::kWarning;
      finding.message += ": short trials will wait for the disk";
      finding.cure = "keep the results on a local disk (--results)";
    }
  }
  return finding;
}

Finding judge_file_locking(const FolderFacts& facts, const std::string& hdf5_version) {
  Finding finding{"hdf5", Level::kOk, "HDF5 " + hdf5_version, ""};
  if (facts.create_error != 0) {
    finding.message += "; file locking not tried, nothing can be written here";
  } else if (facts.lock_error == 0) {
    finding.message += ", file locking works in this folder";
  } else {
    // Our own writer does not lock by flock (it has F.h5.lock); other readers and writers of the
    // file do.
    finding.level = Level::kWarning;
    finding.message +=
        fmt::format(", but file locking fails in this folder: {}", std::strerror(facts.lock_error));
    finding.cure =
        "batchsweep does without; for h5py and others export HDF5_USE_FILE_LOCKING=FALSE";
  }
  return finding;
}

Finding judge_disk(const FolderFacts& facts) {
  Finding finding{"disk", Level::kOk, bytes(facts.free_bytes) + " free in this folder", ""};
  if (facts.free_bytes < kGiB) {
    finding.level = facts.free_bytes < kGiB / 10 ? Level::kError : Level::kWarning;
    finding.cure = "make room, or keep the results elsewhere (--results)";
  }
  return finding;
}

Finding judge_clock(const ClockFacts& facts) {
  if (facts.utc_s < kBeforeThisProgram_s)
    return {"clock", Level::kError, "the clock stands before 2025: time stamps would be wrong",
            "set the clock"};
  if (facts.synchronised == false) {
    return {"clock", Level::kOk,
            "plausible; the kernel knows of no synchronisation (durations do not depend on it, "
            "time stamps of several hosts do)",
            ""};
  }
  return {"clock", Level::kOk, "plausible and synchronised", ""};
}

Finding judge_library_path(const std::optional<std::string>& value) {
  if (!value || value->empty())
    return {"environment", Level::kOk, "LD_LIBRARY_PATH is not set", ""};
  return {
      "environment", Level::kWarning,
      "LD_LIBRARY_PATH is set (" + *value + "): another cuDNN or NCCL there would be used silently",
      "unset LD_LIBRARY_PATH for measured sweeps"};
}

}  // namespace batchsweep::cli
