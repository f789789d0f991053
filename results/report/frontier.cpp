// SPDX-License-Identifier: Apache-2.0
#include "results/report/frontier.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.hpp"

namespace batchsweep::results {
namespace {

// The grid's own resolution: a step that occurs at least twice among the tried batches and is the
// smallest. A doubling series has none, so its neighbours never count as exact.
std::optional<std::int64_t> resolution(const std::vector<BatchPoint>& points) {
  std::vector<std::int64_t> steps;
  for (std::size_t i = 1; i < points.size(); ++i)
    steps.push_back(points[i].batch - points[i - 1].batch);
  if (steps.empty()) return std::nullopt;
  const std::int64_t smallest = *std::min_element(steps.begin(), steps.end());
  if (std::count(steps.begin(), steps.end(), smallest) < 2) return std::nullopt;
  return smallest;
}

std::string list_outcomes(const OutcomeCounts& counts) {
  std::string text;
  for (const auto& [outcome, name] : enum_names(Outcome{})) {
    const std::int64_t count = counts[static_cast<std::size_t>(outcome)];
    if (count > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, name);
  }
  return text;
}

// Batches between the two ends, or below them, that say neither "fits" nor "out of memory".
std::string other_endings(const std::vector<BatchPoint>& points, std::int64_t below) {
  std::string text;
  for (const BatchPoint& point : points) {
    if (point.batch >= below || point.fits() || point.count(Outcome::kOutOfMemory) > 0) continue;
    const bool too_little = point.count(Outcome::kCompleted) > 0;
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", point.batch,
                        too_little ? "fewer than two full steps" : list_outcomes(point.outcomes));
  }
  return text;
}

std::string unusable_memory(const LargestBatch& answer) {
  if (!answer.oom_requested_bytes || !answer.oom_allocated_bytes || !answer.oom_reserved_bytes)
    return "";
  const double unusable = *answer.oom_reserved_bytes - *answer.oom_allocated_bytes;
  if (unusable < *answer.oom_requested_bytes) return "";
  return fmt::format("reserved but unusable at {}: {}", *answer.min_batch_oom,
                     format_bytes(unusable));
}

// A count that cannot be: the device's own allocator should have refused.
std::string above_limit(const LargestBatch& answer) {
  if (!answer.max_batch_fit || !answer.peak_allocated_bytes || !answer.limit_bytes) return "";
  if (*answer.peak_allocated_bytes <= *answer.limit_bytes) return "";
  return fmt::format("the peak at {} is above the limit", *answer.max_batch_fit);
}

std::string boundary_remark(const LargestBatch& answer, const std::vector<BatchPoint>& points) {
  if (!answer.max_batch_fit && answer.min_batch_oom)
    return fmt::format("no batch fits; smallest tried {} ran out of memory", answer.smallest_tried);
  if (!answer.max_batch_fit) return "no batch completed";
  if (!answer.min_batch_oom)
    return fmt::format("fits up to {}, limit not reached", *answer.max_batch_fit);
  if (*answer.min_batch_oom < *answer.max_batch_fit)
    return fmt::format("no clear boundary: {} ran out of memory, the larger {} fits",
                       *answer.min_batch_oom, *answer.max_batch_fit);
  for (const BatchPoint& point : points) {
    if (point.batch == *answer.min_batch_oom && point.counted > 0)
      return fmt::format("{} fits in {} of {} processes", point.batch, point.counted,
                         point.counted + point.count(Outcome::kOutOfMemory));
  }
  return "";
}

void add_sentence(std::string& remark, const std::string& sentence) {
  if (sentence.empty()) return;
  if (!remark.empty()) remark += "; ";
  remark += sentence;
}

}  // namespace

LargestBatch largest_batch(const Groups& groups, std::size_t group) {
  const std::vector<BatchPoint>& points = groups.groups[group].points;
  LargestBatch answer;
  answer.group = group;
  if (points.empty()) return answer;
  answer.smallest_tried = points.front().batch;
  answer.largest_tried = points.back().batch;
  for (const BatchPoint& point : points) {
    if (point.fits()) {
      answer.max_batch_fit = point.batch;
      answer.peak_allocated_bytes = point.peak_allocated_bytes;
      answer.peak_reserved_bytes = point.peak_reserved_bytes;
      answer.peak_device_used_bytes = point.peak_device_used_bytes;
      answer.limit_bytes = point.limit_bytes;
    }
    if (point.count(Outcome::kOutOfMemory) > 0 && !answer.min_batch_oom) {
      answer.min_batch_oom = point.batch;
      answer.oom_requested_bytes = point.oom_requested_bytes;
      answer.oom_allocated_bytes = point.oom_allocated_bytes;
      answer.oom_reserved_bytes = point.oom_reserved_bytes;
      if (point.limit_bytes) answer.limit_bytes = point.limit_bytes;
    }
  }
  if (answer.boundary_seen()) {
    const std::int64_t gap = *answer.min_batch_oom - *answer.max_batch_fit;
    answer.exact = gap == 1 || gap == resolution(points);
  }
  answer.remark = boundary_remark(answer, points);
  const std::int64_t end = answer.min_batch_oom.value_or(answer.largest_tried + 1);
  add_sentence(answer.remark, other_endings(points, end));
  if (answer.min_batch_oom) add_sentence(answer.remark, unusable_memory(answer));
  add_sentence(answer.remark, above_limit(answer));
  return answer;
}

}  // namespace batchsweep::results
