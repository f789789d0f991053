// SPDX-License-Identifier: Apache-2.0
// Which sample comes at which place: a permutation an epoch, from the seed alone, the same on every
// machine.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace batchsweep::train {

// SplitMix64: well mixed numbers from any seed, at once.
class SmallRandom {
 public:
  explicit SmallRandom(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next();
  std::uint64_t below(std::uint64_t bound);  // bound > 0, far below 2^64: the bias of the remainder
                                             // is of no account
  double uniform();                          // [0, 1)

 private:
  std::uint64_t state_;
};

// The seed of a part of a trial's work, e.g. of the masks of sample 12.
[[nodiscard]] std::uint64_t mixed_seed(std::uint64_t seed, std::uint64_t part);

// The samples 0 to `samples` - 1 as they come in an epoch.
[[nodiscard]] std::vector<std::int32_t> epoch_order(std::int64_t samples, std::uint64_t seed,
                                                    std::int64_t epoch);

// Throws TrialFailed where a batch holds more than all samples; `what` names the data.
void check_batch_size(std::int64_t samples, std::int64_t batch_size, std::string_view what);

class SampleOrder {
 public:
  // Throws as check_batch_size does.
  SampleOrder(std::int64_t samples, std::int64_t batch_size, std::uint64_t seed,
              std::string_view what);

  struct Place {
    std::int64_t number;  // counts on from 0 over all epochs
    std::int64_t sample;  // of the data set
  };
  Place next();

 private:
  std::int64_t samples_;
  std::vector<std::int32_t> permutation_;
  std::uint64_t seed_;
  std::int64_t number_ = 0;
};

}  // namespace batchsweep::train
