// SPDX-License-Identifier: Apache-2.0
#include "orchestrator/waiting_queue.hpp"

#include <algorithm>
#include <functional>

#include "base/check.hpp"

namespace batchsweep::orchestrator {

void WaitingQueue::add(QueuedTrial trial) {
  if (!sealed_) {
    bulk_.push_back(trial);
    return;
  }
  later_.push_back(trial);
  std::ranges::push_heap(later_, std::greater<>());
}

void WaitingQueue::seal() {
  if (sealed_) return;
  sealed_ = true;
  if (!std::ranges::is_sorted(bulk_)) std::ranges::sort(bulk_);
}

QueuedTrial WaitingQueue::front() {
  BATCHSWEEP_ASSERT(!empty());
  seal();
  if (taken_ == bulk_.size()) return later_.front();
  if (later_.empty()) return bulk_[taken_];
  return std::min(bulk_[taken_], later_.front());
}

std::uint32_t WaitingQueue::pop() {
  const QueuedTrial trial = front();
  if (taken_ < bulk_.size() && bulk_[taken_] == trial) {
    ++taken_;
  } else {
    std::ranges::pop_heap(later_, std::greater<>());
    later_.pop_back();
  }
  return trial.slot;
}

std::vector<QueuedTrial> WaitingQueue::first(std::size_t most) const {
  std::vector<QueuedTrial> trials = later_;
  const auto begin = bulk_.begin() + static_cast<std::ptrdiff_t>(taken_);
  const auto end = sealed_
                       ? begin + static_cast<std::ptrdiff_t>(std::min(most, bulk_.size() - taken_))
                       : bulk_.end();
  trials.insert(trials.end(), begin, end);
  const auto middle = trials.begin() + static_cast<std::ptrdiff_t>(std::min(most, trials.size()));
  std::partial_sort(trials.begin(), middle, trials.end());
  trials.erase(middle, trials.end());
  return trials;
}

std::uint32_t shuffled(std::uint32_t slot, std::uint64_t seed) {
  std::uint32_t x = slot;
  // Four rounds of a Feistel network: a permutation of the 32-bit numbers, so that no two slots
  // share a place.
  for (std::uint64_t round = 1; round <= 4; ++round) {
    std::uint64_t z = ((x & 0xffffu) + (seed << 20) + round) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 29)) * 0xbf58476d1ce4e5b9u;
    x = (x & 0xffffu) << 16 | ((x >> 16) ^ static_cast<std::uint32_t>(z >> 48));
  }
  return x;
}

}  // namespace batchsweep::orchestrator
