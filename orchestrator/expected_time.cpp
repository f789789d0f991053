// SPDX-License-Identifier: Apache-2.0
#include "orchestrator/expected_time.hpp"

#include <algorithm>

namespace batchsweep::orchestrator {

void ExpectedTime::Seen::add(double duration_s) {
  ++count;
  sum_s += duration_s;
  longest_s = std::max(longest_s, duration_s);
}

void ExpectedTime::add(KindId kind, double duration_s) {
  if (kinds_.size() <= kind) kinds_.resize(kind + 1);
  kinds_[kind].add(duration_s);
  all_.add(duration_s);
}

std::optional<double> ExpectedTime::mean_s(KindId kind) const {
  const Seen& seen = kind < kinds_.size() && kinds_[kind].count > 0 ? kinds_[kind] : all_;
  if (seen.count == 0) return std::nullopt;
  return seen.sum_s / static_cast<double>(seen.count);
}

double ExpectedTime::at_most_s(KindId kind, double limit_s) const {
  if (kind >= kinds_.size() || kinds_[kind].count == 0) return limit_s;
  return std::min(limit_s, 2 * kinds_[kind].longest_s);
}

}  // namespace batchsweep::orchestrator
