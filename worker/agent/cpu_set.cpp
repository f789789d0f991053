// SPDX-License-Identifier: Apache-2.0
#include "worker/agent/cpu_set.hpp"

#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <vector>

#include "worker/agent/cgroup.hpp"

namespace batchsweep::agent {
namespace {

constexpr std::size_t kMostCpus = 8192;
constexpr std::size_t kMaskWords = kMostCpus / (8 * sizeof(cpu_set_t)) + 1;

}  // namespace

void widen_cpu_set_under_mpirun() {
  if (std::getenv("OMPI_COMM_WORLD_SIZE") == nullptr || std::getenv("SLURM_JOB_ID") != nullptr)
    return;
  std::vector<cpu_set_t> mask(kMaskWords);
  std::memset(mask.data(), 0xff, mask.size() * sizeof(cpu_set_t));
  sched_setaffinity(0, mask.size() * sizeof(cpu_set_t),
                    mask.data());  // the kernel takes what the cgroup allows
}

std::string cpus_allowed() {
  std::ifstream status("/proc/self/status");
  constexpr std::string_view kKey = "Cpus_allowed_list:";
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(kKey)) return line.substr(line.find_first_not_of(" \t", kKey.size()));
  }
  return "";
}

std::int64_t cores_allowed() {
  std::vector<cpu_set_t> mask(kMaskWords);
  std::int64_t cores = 1;
  if (sched_getaffinity(0, mask.size() * sizeof(cpu_set_t), mask.data()) == 0) {
    cores = CPU_COUNT_S(mask.size() * sizeof(cpu_set_t), mask.data());
  }
  if (const auto quota = cpu_quota()) cores = std::min(cores, static_cast<std::int64_t>(*quota));
  return std::max<std::int64_t>(cores, 1);
}

}  // namespace batchsweep::agent
