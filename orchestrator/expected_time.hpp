// SPDX-License-Identifier: Apache-2.0
// How long a trial will take, learnt from those that have ended. Trials of one family differ only
// in how much each rank has to do (batch size, steps): their times lie about a line. Knows no
// trials.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace batchsweep::orchestrator {

using FamilyId = std::uint32_t;

class ExpectedTime {
 public:
  void learn(FamilyId family, double work, double duration_s);
  // On the line through what has ended, which never falls. Where all that ended had the same work,
  // more work is taken to need more time in proportion. nullopt: nothing of the family has ended.
  [[nodiscard]] std::optional<double> of(FamilyId family, double work) const;
  [[nodiscard]] bool knows(FamilyId family) const {
    return family < families_.size() && families_[family].count > 0;
  }
  // Of all that has ended.
  [[nodiscard]] std::optional<double> mean() const;

 private:
  struct Line {  // sums of least squares: x is the work, y the time
    double count = 0, x = 0, y = 0, xx = 0, xy = 0;
  };
  std::vector<Line> families_;
  Line all_;
};

}  // namespace batchsweep::orchestrator
