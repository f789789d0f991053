// SPDX-License-Identifier: Apache-2.0
// What our control group allows: versions 1 and 2, inside containers as well. Unknown is nullopt.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace batchsweep::agent {

// The nearest readable file of that name for our group: version 2's name, or the controller and the
// name in version 1; "" = none.
[[nodiscard]] std::string cgroup_file(std::string_view v2_name, std::string_view v1_controller,
                                      std::string_view v1_name);

// Memory that the group may still take (limit - usage + reclaimable file cache); nullopt: no limit.
[[nodiscard]] std::optional<std::uint64_t> cgroup_memory_left_bytes();
// Processor time per time, e.g. 1.5 cores; nullopt: no quota.
[[nodiscard]] std::optional<double> cpu_quota();

}  // namespace batchsweep::agent
