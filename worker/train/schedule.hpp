// SPDX-License-Identifier: Apache-2.0
// Learning-rate schedules as functions of the step number. docs/training.md gives the formulas and
// their counterparts in PyTorch. Knows nothing of optimizers.
#pragma once

#include <cstdint>
#include <string>

namespace batchsweep::train {

class Schedule {
 public:
  // Over `total_steps` optimizer steps, warm-up included. Throws TrialFailed for an unknown name.
  Schedule(const std::string& name, std::int64_t total_steps);
  // What the learning rate is multiplied by at this step, counted from 0. Steps behind the last
  // one (a timed window that had to be longer) keep its factor.
  [[nodiscard]] double factor(std::int64_t step) const;

 private:
  using Formula = double (*)(std::int64_t step, std::int64_t total_steps);
  static Formula formula_of(const std::string& name);
  Formula formula_;
  std::int64_t total_steps_;
};

}  // namespace batchsweep::train
