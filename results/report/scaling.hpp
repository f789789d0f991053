// SPDX-License-Identifier: Apache-2.0
// Answer `scaling`: efficiency over world sizes. Weak (batch per rank fixed) and strong (global
// batch fixed) are two tables and never mixed. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "base/enum_names.hpp"
#include "results/report/groups.hpp"

namespace batchsweep::results {

enum class ScalingKind { kWeak, kStrong };
constexpr auto enum_names(ScalingKind) {
  return std::to_array<EnumName<ScalingKind>>(
      {{ScalingKind::kWeak, "weak"}, {ScalingKind::kStrong, "strong"}});
}

struct Scaling {
  std::size_t group = 0;
  ScalingKind kind = ScalingKind::kWeak;
  std::int64_t batch = 0, global_batch = 0, world_size = 1;
  std::int64_t base_world_size = 1;  // the smallest that completed: efficiency 1 there
  double samples_per_s = 0;
  double efficiency = 1;  // rate / rate(base) x base / world_size, in both kinds
};

// Only where several world sizes completed; empty otherwise.
[[nodiscard]] std::vector<Scaling> scaling(const Groups& groups);

}  // namespace batchsweep::results
