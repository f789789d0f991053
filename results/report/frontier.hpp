// SPDX-License-Identifier: Apache-2.0
// Answer `largest_batch`: the largest batch that completed and the smallest that ran out of memory,
// per group. Pure; never claims a boundary that was not seen.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "results/report/groups.hpp"

namespace batchsweep::results {

struct LargestBatch {
  std::size_t group = 0;
  std::optional<std::int64_t> max_batch_fit;  // absent: no batch completed
  std::optional<std::int64_t> min_batch_oom;  // absent: the limit was not reached
  bool exact = false;                         // the two are neighbours
  std::int64_t smallest_tried = 0, largest_tried = 0;
  // Of the largest batch that fits.
  std::optional<double> peak_allocated_bytes, peak_reserved_bytes, peak_device_used_bytes;
  std::optional<double> limit_bytes;
  // Of the smallest that ran out.
  std::optional<double> oom_requested_bytes, oom_allocated_bytes, oom_reserved_bytes;
  std::string remark;  // a sentence where the numbers alone would mislead, else ""

  // Both ends of the boundary were seen, and in the right order.
  [[nodiscard]] bool boundary_seen() const {
    return max_batch_fit && min_batch_oom && *max_batch_fit < *min_batch_oom;
  }
};

[[nodiscard]] LargestBatch largest_batch(const Groups& groups, std::size_t group);

}  // namespace batchsweep::results
