// SPDX-License-Identifier: Apache-2.0
#include "results/report/memory_fit.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include "results/report/statistics.hpp"

namespace batchsweep::results {

std::optional<MemoryFit> fit_memory(const Groups& groups, std::size_t group) {
  std::vector<Observation> peaks;
  MemoryFit fit;
  fit.group = group;
  for (const BatchPoint& point : groups.groups[group].points) {
    if (point.fits() && point.peak_allocated_bytes.value_or(0) > 0) {
      peaks.push_back({static_cast<double>(point.batch), *point.peak_allocated_bytes, 1});
      fit.largest_used = point.batch;
    }
    if (point.limit_bytes) fit.limit_bytes = point.limit_bytes;
  }
  const std::size_t used =
      peaks.size() < 3 ? peaks.size() : std::max<std::size_t>(2, (peaks.size() + 1) / 2);
  const std::span<const Observation> larger = std::span(peaks).last(used);
  const std::optional<Line> line = fit_line(larger);
  if (!line) return std::nullopt;
  fit.fixed_bytes = line->intercept;
  fit.bytes_per_sample = line->slope;
  fit.points = static_cast<std::int64_t>(peaks.size());
  fit.points_used = static_cast<std::int64_t>(used);
  fit.smallest_used = std::llround(larger.front().x);
  for (const Observation& peak : peaks)
    fit.worst_error = std::max(fit.worst_error, std::abs(line->at(peak.x) - peak.y) / peak.y);
  return fit;
}

}  // namespace batchsweep::results
