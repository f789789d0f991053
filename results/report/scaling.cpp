// SPDX-License-Identifier: Apache-2.0
#include "results/report/scaling.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace batchsweep::results {
namespace {

using SeriesKey = std::pair<AxisKey, std::int64_t>;  // other axes, fixed batch

void add_series(ScalingKind kind, const Groups& groups, std::vector<Scaling>& answer) {
  std::map<SeriesKey, std::vector<Scaling>> series;
  for (std::size_t i = 0; i < groups.groups.size(); ++i) {
    const Group& group = groups.groups[i];
    AxisKey key = group.key;
    key[kWorldSize] = key[kNumNodes] = 0;
    const Json world_size = groups.values.json(kWorldSize, group.key);
    if (!world_size.is_number()) continue;
    for (const BatchPoint& point : group.points) {
      if (point.counted == 0 || point.samples_per_s.value_or(0) <= 0) continue;
      const std::int64_t fixed = kind == ScalingKind::kWeak ? point.batch : point.global_batch;
      series[{key, fixed}].push_back({.group = i,
                                      .kind = kind,
                                      .batch = point.batch,
                                      .global_batch = point.global_batch,
                                      .world_size = world_size.get<std::int64_t>(),
                                      .base_world_size = 1,
                                      .samples_per_s = *point.samples_per_s,
                                      .efficiency = 1});
    }
  }
  for (auto& [key, entries] : series) {
    const auto base =
        std::min_element(entries.begin(), entries.end(),
                         [](const auto& a, const auto& b) { return a.world_size < b.world_size; });
    const Scaling smallest = *base;
    const bool several = std::any_of(entries.begin(), entries.end(), [&](const Scaling& entry) {
      return entry.world_size != smallest.world_size;
    });
    if (!several) continue;
    for (Scaling& entry : entries) {
      entry.base_world_size = smallest.world_size;
      entry.efficiency = entry.samples_per_s / smallest.samples_per_s *
                         static_cast<double>(smallest.world_size) /
                         static_cast<double>(entry.world_size);
      answer.push_back(entry);
    }
  }
}

}  // namespace

std::vector<Scaling> scaling(const Groups& groups) {
  std::vector<Scaling> answer;
  if (groups.values.count(kWorldSize) < 2) return answer;
  add_series(ScalingKind::kWeak, groups, answer);
  add_series(ScalingKind::kStrong, groups, answer);
  std::sort(answer.begin(), answer.end(), [](const Scaling& a, const Scaling& b) {
    const auto place = [](const Scaling& s) {
      return std::tuple(s.kind, s.kind == ScalingKind::kWeak ? s.batch : s.global_batch, s.group);
    };
    return place(a) < place(b);
  });
  return answer;
}

}  // namespace batchsweep::results
