// SPDX-License-Identifier: Apache-2.0
// Which cores we, and so our trials, may use.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace batchsweep::agent {

// mpirun binds each of few ranks to one core, and a trial would inherit that: takes all cores of
// the cgroup instead. Under Slurm, or without mpirun, the mask is somebody's wish and stays.
void widen_cpu_set_under_mpirun();

// The mask as people write it: "0-3,8".
[[nodiscard]] std::string cpus_allowed();
// "0-3,8" -> 0 1 2 3 8, and back.
[[nodiscard]] std::vector<int> cpus_of(std::string_view list);
[[nodiscard]] std::string cpu_list(const std::vector<int>& cpus);
// Cores in the mask, and no more than the cgroup's quota of processor time; at least 1.
[[nodiscard]] std::int64_t cores_allowed();

}  // namespace batchsweep::agent
