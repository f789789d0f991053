// SPDX-License-Identifier: Apache-2.0
#include "orchestrator/expected_time.hpp"

#include <algorithm>

namespace batchsweep::orchestrator {

void ExpectedTime::learn(FamilyId family, double work, double duration_s) {
  if (families_.size() <= family) families_.resize(family + 1);
  for (Line* line : {&families_[family], &all_}) {
    ++line->count;
    line->x += work;
    line->y += duration_s;
    line->xx += work * work;
    line->xy += work * duration_s;
  }
}

std::optional<double> ExpectedTime::mean() const {
  return all_.count > 0 ? std::optional(all_.y / all_.count) : std::nullopt;
}

std::optional<double> ExpectedTime::of(FamilyId family, double work) const {
  if (!knows(family)) return std::nullopt;
  const Line& line = families_[family];
  const double mean_x = line.x / line.count, mean_y = line.y / line.count;
  const double variance = line.xx / line.count - mean_x * mean_x;
  if (variance <= 1e-9 * mean_x * mean_x)
    return mean_x > 0 ? mean_y * std::max(1.0, work / mean_x) : mean_y;
  const double slope = (line.xy / line.count - mean_x * mean_y) / variance;
  if (slope <= 0) return mean_y;
  const double at_zero = mean_y - slope * mean_x;
  return at_zero >= 0 ? at_zero + slope * work : line.xy / line.xx * work;
}

}  // namespace batchsweep::orchestrator
