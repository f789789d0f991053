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

std::vector<std::int32_t> epoch_order(std::int64_t samples, std::uint64_t seed,
                                      std::int64_t epoch) {
  std::vector<std::int32_t> order(static_cast<std::size_t>(samples));
  std::iota(order.begin(), order.end(), 0);
  SmallRandom random(mixed_seed(seed, static_cast<std::uint64_t>(epoch)));
  for (std::size_t left = order.size(); left > 1; --left)
    std::swap(order[left - 1], order[random.below(left)]);
  return order;
}

void check_batch_size(std::int64_t samples, std::int64_t batch_size, std::string_view what) {
  if (batch_size <= samples) return;
  throw TrialFailed(
      fmt::format("batch size {} is more than all {} samples of {}", batch_size, samples, what));
}

SampleOrder::SampleOrder(std::int64_t samples, const Share& share, std::uint64_t seed,
                         std::string_view what)
    : samples_(samples), share_(share), seed_(seed) {
  check_batch_size(samples, share.samples_of_all(), what);
}

SampleOrder::Place SampleOrder::next() {
  const std::int64_t number = share_.number_of(taken_++);
  if (number / samples_ != epoch_) {
    epoch_ = number / samples_;
    permutation_ = epoch_order(samples_, seed_, epoch_);
  }
  return {.number = number, .sample = permutation_[static_cast<std::size_t>(number % samples_)]};
}

}  // namespace batchsweep::train
