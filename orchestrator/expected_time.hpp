// SPDX-License-Identifier: Apache-2.0
// How long trials of a kind took so far: for the expected end, and for what is not started any more
// shortly before the wall time.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "orchestrator/scheduler.hpp"

namespace batchsweep::orchestrator {

class ExpectedTime {
 public:
  void add(KindId kind, double duration_s);
  // Mean of the kind, else of all; nullopt: nothing has ended yet.
  [[nodiscard]] std::optional<double> mean_s(KindId kind) const;
  // Twice the longest of the kind so far; `limit_s` where it is shorter or nothing is known.
  [[nodiscard]] double at_most_s(KindId kind, double limit_s) const;

 private:
  struct Seen {
    std::int64_t count = 0;
    double sum_s = 0, longest_s = 0;
    void add(double duration_s);
  };
  std::vector<Seen> kinds_;
  Seen all_;
};

}  // namespace batchsweep::orchestrator
