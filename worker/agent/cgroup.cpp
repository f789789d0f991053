// SPDX-License-Identifier: Apache-2.0
#include "worker/agent/cgroup.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <fstream>
#include <limits>

namespace batchsweep::agent {
namespace {

struct GroupPaths {
  std::string version_1, version_2;
};

// /proc/self/cgroup: lines "4:memory:/path" (version 1) and "0::/path" (version 2).
GroupPaths own_groups(std::string_view v1_controller) {
  GroupPaths paths;
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = fmt::format(",{},", line.substr(first + 1, second - first - 1));
    if (controllers == ",,") paths.version_2 = line.substr(second + 1);
    if (controllers.find(fmt::format(",{},", v1_controller)) != std::string::npos)
      paths.version_1 = line.substr(second + 1);
  }
  return paths;
}

std::optional<std::uint64_t> read_number(const std::string& path) {
  std::ifstream file(path);
  std::uint64_t value = 0;
  if (path.empty() || !(file >> value)) return std::nullopt;  // "max" is no number: no limit
  return value;
}

std::optional<std::uint64_t> read_keyed(const std::string& path, std::string_view key) {
  std::ifstream file(path);
  std::string name;
  std::uint64_t value = 0;
  while (file >> name >> value) {
    if (name == key) return value;
  }
  return std::nullopt;
}

}  // namespace

std::string cgroup_file(std::string_view v2_name, std::string_view v1_controller,
                        std::string_view v1_name) {
  const GroupPaths paths = own_groups(v1_controller);
  // Inside a container the path is the host's, while the mount shows the container's own group as
  // its root.
  for (const std::string& file :
       {fmt::format("/sys/fs/cgroup{}/{}", paths.version_2, v2_name),
        fmt::format("/sys/fs/cgroup/{}", v2_name),
        fmt::format("/sys/fs/cgroup/{}{}/{}", v1_controller, paths.version_1, v1_name),
        fmt::format("/sys/fs/cgroup/{}/{}", v1_controller, v1_name)}) {
    if (access(file.c_str(), R_OK) == 0) return file;
  }
  return "";
}

std::optional<std::uint64_t> cgroup_memory_left_bytes() {
  const auto limit = read_number(cgroup_file("memory.max", "memory", "memory.limit_in_bytes"));
  const auto usage = read_number(cgroup_file("memory.current", "memory", "memory.usage_in_bytes"));
  // Version 1 writes "no limit" as the largest multiple of a page.
  constexpr auto kNoLimit =
      static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) / 2;
  if (!limit || !usage || *limit >= kNoLimit) return std::nullopt;
  const std::uint64_t cache =
      read_keyed(cgroup_file("memory.stat", "memory", "memory.stat"), "inactive_file").value_or(0);
  const std::uint64_t used = *usage > cache ? *usage - cache : 0;
  return *limit > used ? *limit - used : 0;
}

std::optional<double> cpu_quota() {
  if (const std::string file = cgroup_file("cpu.max", "cpu", "cpu.cfs_quota_us");
      file.ends_with("cpu.max")) {
    std::ifstream values(file);  // "max 100000" or "150000 100000"
    double quota = 0, period = 0;
    return values >> quota >> period && period > 0 ? std::optional(quota / period) : std::nullopt;
  }
  const auto quota = read_number(cgroup_file("cpu.max", "cpu", "cpu.cfs_quota_us"));
  const auto period = read_number(cgroup_file("cpu.max", "cpu", "cpu.cfs_period_us"));
  constexpr auto kNone = std::numeric_limits<std::uint64_t>::max();  // "-1" as read
  if (!quota || !period || *quota == 0 || *quota == kNone || *period == 0) return std::nullopt;
  return static_cast<double>(*quota) / static_cast<double>(*period);
}

}  // namespace batchsweep::agent
