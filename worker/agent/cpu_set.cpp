// SPDX-License-Identifier: Apache-2.0
#include "worker/agent/cpu_set.hpp"

#include <sched.h>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
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

std::vector<int> cpus_of(std::string_view list) {
  std::vector<int> cpus;
  while (!list.empty()) {
    const std::string_view range = list.substr(0, list.find(','));
    list.remove_prefix(std::min(range.size() + 1, list.size()));
    int first = 0;
    const auto [end, error] = std::from_chars(range.data(), range.data() + range.size(), first);
    if (error != std::errc{}) return {};
    int last = first;
    if (end != range.data() + range.size())
      (void)std::from_chars(end + 1, range.data() + range.size(), last);
    for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
  }
  return cpus;
}

std::string cpu_list(const std::vector<int>& cpus) {
  std::string text;
  for (std::size_t i = 0; i < cpus.size();) {
    std::size_t end = i + 1;
    while (end < cpus.size() && cpus[end] == cpus[end - 1] + 1) ++end;
    text += fmt::format("{}{}", text.empty() ? "" : ",", cpus[i]);
    if (end - i > 1) text += fmt::format("-{}", cpus[end - 1]);
    i = end;
  }
  return text;
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
