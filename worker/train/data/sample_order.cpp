// SPDX-License-Identifier: Apache-2.0
#include "worker/train/data/sample_order.hpp"

#include <fmt/format.h>

#include <numeric>
#include <utility>

#include "worker/train/trial_errors.hpp"

namespace batchsweep::train {

std::uint64_t SmallRandom::next() {
  std::uint64_t z = (state_ += 0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

std::uint64_t SmallRandom::below(std::uint64_t bound) { return next() % bound; }

double SmallRandom::uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

std::uint64_t mixed_seed(std::uint64_t seed, std::uint64_t part) {
  return SmallRandom(SmallRandom(seed).next() ^ part).next();
}

SampleOrder::SampleOrder(std::int64_t samples, std::int64_t batch_size, std::uint64_t seed,
                         std::string_view what)
    : seed_(seed) {
  if (batch_size > samples) {
    throw TrialFailed(
        fmt::format("batch size {} is more than all {} samples of {}", batch_size, samples, what));
  }
  permutation_.resize(static_cast<std::size_t>(samples));
}

SampleOrder::Place SampleOrder::next() {
  const auto size = static_cast<std::int64_t>(permutation_.size());
  if (number_ % size == 0) shuffle();
  const std::int64_t number = number_++;
  return {.number = number, .sample = permutation_[static_cast<std::size_t>(number % size)]};
}

void SampleOrder::shuffle() {
  const auto epoch = static_cast<std::uint64_t>(number_) / permutation_.size();
  SmallRandom random(mixed_seed(seed_, epoch));
  std::iota(permutation_.begin(), permutation_.end(), 0);
  for (std::size_t left = permutation_.size(); left > 1; --left) {
    std::swap(permutation_[left - 1], permutation_[random.below(left)]);
  }
}

}  // namespace batchsweep::train
