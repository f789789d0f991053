// SPDX-License-Identifier: Apache-2.0
// Answer `memory`: peak memory against the batch as a line, with how wrong the line is. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "results/report/groups.hpp"

namespace batchsweep::results {

struct MemoryFit {
  std::size_t group = 0;
  double fixed_bytes = 0;  // the line's value at batch 0, not a measured amount
  double bytes_per_sample = 0;
  double worst_error = 0;  // largest |line - peak| / peak over *all* completed batches
  std::int64_t points = 0, points_used = 0;
  std::int64_t smallest_used = 0, largest_used = 0;
  std::optional<double> limit_bytes;

  // The batch at which the line meets so many bytes; absent where memory does not grow.
  [[nodiscard]] std::optional<double> batch_at(double bytes) const {
    if (bytes_per_sample <= 0) return std::nullopt;
    return (bytes - fixed_bytes) / bytes_per_sample;
  }
};

// Least squares through peak_allocated_bytes of the completed batches. The peak is the largest of
// several lines (small batches peak late in the backward pass, large ones early), so from three
// batches on only the larger half is used: the line that will meet the limit. Absent below two.
[[nodiscard]] std::optional<MemoryFit> fit_memory(const Groups& groups, std::size_t group);

}  // namespace batchsweep::results
