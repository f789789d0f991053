// SPDX-License-Identifier: Apache-2.0
// Answer `verdicts`: does memory or compute limit this model on this device, and what would twice
// the memory buy. A pure model over the other answers; docs/measurement.md derives it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/enum_names.hpp"
#include "results/report/frontier.hpp"
#include "results/report/groups.hpp"
#include "results/report/memory_fit.hpp"

namespace batchsweep::results {

enum class Limit { kMemory, kCompute, kUndecided };
constexpr auto enum_names(Limit) {
  return std::to_array<EnumName<Limit>>(
      {{Limit::kMemory, "memory"}, {Limit::kCompute, "compute"}, {Limit::kUndecided, "undecided"}});
}

// A gain in throughput below this is not worth a larger device; also what 20 steps can resolve.
inline constexpr double kWorthwhileGain = 0.05;
// Processes of one trial differ by this (standard deviation, relative), beside the noise within
// each.
inline constexpr double kProcessSpread = 0.018;
// Of a rate whose row carries no interval.
inline constexpr double kUnknownSpread = 0.05;

// A gain in throughput, 0.1 = a tenth more, with its 95 % interval.
struct Gain {
  double value = 0;
  double low = 0;
  double high = 0;
};

struct Verdict {
  std::size_t group = 0;
  Limit limit = Limit::kUndecided;
  std::string reason;  // the sentence behind it
  std::optional<std::int64_t> max_batch_fit;
  bool boundary_seen = false;
  // Measured: the last (about) doubling of the batch up to max_batch_fit.
  std::optional<std::int64_t> measured_from_batch;
  std::optional<Gain> measured_gain;
  // Predicted: from max_batch_fit to the batch that twice the memory would hold.
  std::optional<double> batch_at_double_memory;
  std::optional<Gain> predicted_gain;
  // The rate that ever larger batches approach, and the share of it that max_batch_fit reaches.
  std::optional<double> asymptotic_samples_per_s, reached_share;
  std::int64_t points_used = 0;
};

[[nodiscard]] Verdict verdict(const Groups& groups, const LargestBatch& frontier,
                              const std::optional<MemoryFit>& memory);

}  // namespace batchsweep::results
