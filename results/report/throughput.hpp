// SPDX-License-Identifier: Apache-2.0
// Answer `throughput`: the best rate of each group with its interval and batch, and how it stands
// to a reference device. Pure. Emulated devices are compared among themselves on one physical
// device, never with real cards.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "results/report/groups.hpp"

namespace batchsweep::results {

struct Throughput {
  std::size_t group = 0;
  std::int64_t batch = 0;
  std::int64_t world_size = 1;
  double samples_per_s = 0;  // of all ranks
  std::optional<double> rate_low, rate_high;
  std::optional<double> tokens_per_s;
  std::int64_t near_best_batch = 0;  // smallest batch whose interval reaches into the best one's
  bool precision_native = true;
  std::optional<double> relative;  // over the reference device's best, all other axes equal
  std::string reference;           // its name; "" where there is none to compare with
  std::vector<std::string> flags;  // "not alone", "precision not native", ...
  bool operator==(const Throughput&) const = default;
};

// Geometric mean of `relative` over the models that device and reference have in common, all axes
// but gpu and model equal.
struct RelativeThroughput {
  std::size_t group = 0;  // a group of the device with these axes: names them
  double relative = 0;
  std::string reference;
  std::vector<std::string> models;
};

struct ThroughputAnswer {
  std::vector<Throughput> best;
  std::vector<RelativeThroughput> means;  // of more than one common model
};

// `reference`: a GPU's name, or "" for the first device of each kind (real, or emulated on one
// physical device). Throws UsageError where no row has that name.
[[nodiscard]] ThroughputAnswer throughput(const Groups& groups, const std::string& reference);

}  // namespace batchsweep::results
