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

// What one rank works on: the ranks' batches stand behind each other, so that two ranks of batch 8
// take together what one rank of batch 16 takes.
struct Share {
  std::int64_t batch_size = 1;
  std::int64_t rank = 0, world_size = 1;

  // The number within the trial of this rank's own sample, both counted from 0.
  [[nodiscard]] std::int64_t number_of(std::int64_t own) const {
    return (own / batch_size * world_size + rank) * batch_size + own % batch_size;
  }
  [[nodiscard]] std::int64_t samples_of_all() const { return batch_size * world_size; }
};

class SampleOrder {
 public:
  // Throws as check_batch_size does, where the ranks' batches together hold more than all samples.
  SampleOrder(std::int64_t samples, const Share& share, std::uint64_t seed, std::string_view what);

  struct Place {
    std::int64_t number;  // of the trial's, counting on over all epochs
    std::int64_t sample;  // of the data set
  };
  Place next();

 private:
  std::int64_t samples_;
  Share share_;
  std::vector<std::int32_t> permutation_;
  std::uint64_t seed_;
  std::int64_t taken_ = 0;   // by this rank
  std::int64_t epoch_ = -1;  // of the permutation
};

}  // namespace batchsweep::train
