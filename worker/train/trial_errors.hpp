// SPDX-License-Identifier: Apache-2.0
// How a trial can end before its result, inside the trial process; trial_main turns each into its
// ending event.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace batchsweep::train {

// This trial cannot be done here, whatever the circumstances: skipped, reason unsupported.
class Unsupported : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The trial asks for something that cannot be: data that is not there, a batch larger than the
// data. Failed.
class TrialFailed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The trial never came to life: it is started again within the same attempt.
class LaunchFault : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class LossNotFinite : public std::runtime_error {
 public:
  LossNotFinite(std::int64_t step, double loss)
      : std::runtime_error("the loss of step " + std::to_string(step) + " is " +
                           (loss != loss ? "not a number" : "infinite") +
                           ": try a smaller learning_rate or another precision"),
        step_(step) {}
  [[nodiscard]] std::int64_t step() const { return step_; }

 private:
  std::int64_t step_;
};

}  // namespace batchsweep::train
