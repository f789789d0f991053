// SPDX-License-Identifier: Apache-2.0
// Judges the machine: shared memory, cores, the folder that will hold the results, clock,
// environment. judge_* are pure; look_* read the world and hand it on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/doctor/finding.hpp"

namespace batchsweep::cli {

[[nodiscard]] Finding judge_shared_memory(std::optional<std::uint64_t> size_bytes);

struct CpuFacts {
  std::int64_t online = 1, allowed = 1;  // cores of the machine, cores this process may use
  std::optional<double> quota;           // cores that the control group grants; absent: no limit
};
// "max 100000" or "150000 100000", the content of a control group's cpu.max.
[[nodiscard]] std::optional<double> parse_cpu_quota(const std::string& cpu_max);
[[nodiscard]] Finding judge_cpus(const CpuFacts& facts);

struct FolderFacts {
  std::string path;
  int create_error = 0, lock_error = 0, sync_error = 0;  // errno; 0 = worked
  double sync_s = 0;                                     // median fdatasync of a small append
  std::uint64_t free_bytes = 0;
};
[[nodiscard]] Finding judge_recording(const FolderFacts& facts);
[[nodiscard]] Finding judge_file_locking(const FolderFacts& facts, const std::string& hdf5_version);
[[nodiscard]] Finding judge_disk(const FolderFacts& facts);

struct ClockFacts {
  std::int64_t utc_s = 0;            // seconds since 1970
  std::optional<bool> synchronised;  // what the kernel says; absent: it does not say
};
[[nodiscard]] Finding judge_clock(const ClockFacts& facts);

// `value` is LD_LIBRARY_PATH.
[[nodiscard]] Finding judge_library_path(const std::optional<std::string>& value);

[[nodiscard]] std::optional<std::uint64_t> look_shared_memory();
[[nodiscard]] CpuFacts look_cpus();
[[nodiscard]] FolderFacts look_folder(const std::string& path);
[[nodiscard]] ClockFacts look_clock();

}  // namespace batchsweep::cli
