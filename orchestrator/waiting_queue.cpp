// SPDX-License-Identifier: Apache-2.0
#include "orchestrator/waiting_queue.hpp"

#include <algorithm>
#include <functional>
#include <limits>

#include "base/check.hpp"

namespace batchsweep::orchestrator {
namespace {

constexpr std::uint32_t kTaken = std::numeric_limits<std::uint32_t>::max();
constexpr int kLookedAt = 64;

}  // namespace

void WaitingQueue::add(const QueuedTrial& trial) {
  work_sum_ += trial.work;
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

// The first place from this one on that was not taken. Shortens the way for the next who comes.
std::size_t WaitingQueue::skip(std::size_t place) {
  std::size_t end = place;
  while (end < bulk_.size() && bulk_[end].slot == kTaken) end = bulk_[end].position;
  while (place < end) {
    const std::size_t next = bulk_[place].position;
    bulk_[place].position = static_cast<std::uint32_t>(end);
    place = next;
  }
  return end;
}

QueuedTrial WaitingQueue::front() {
  BATCHSWEEP_ASSERT(!empty());
  seal();
  begin_ = skip(begin_);
  if (begin_ == bulk_.size()) return later_.front();
  if (later_.empty()) return bulk_[begin_];
  return std::min(bulk_[begin_], later_.front());
}

QueuedTrial WaitingQueue::pop() {
  const QueuedTrial trial = front();
  if (begin_ < bulk_.size() && bulk_[begin_] == trial) {
    take(begin_);
    return trial;
  }
  std::ranges::pop_heap(later_, std::greater<>());
  later_.pop_back();
  work_sum_ = empty() ? 0 : work_sum_ - trial.work;
  return trial;
}

void WaitingQueue::take(std::size_t place) {
  QueuedTrial& trial = bulk_[place];
  BATCHSWEEP_ASSERT(trial.slot != kTaken);
  trial.slot = kTaken;
  trial.position = static_cast<std::uint32_t>(place + 1);
  ++taken_;
  work_sum_ = empty() ? 0 : work_sum_ - trial.work;
}

std::optional<std::size_t> WaitingQueue::find(const Fits& fits, bool by_work) {
  if (empty()) return std::nullopt;
  const std::uint32_t level = front().level;
  if (begin_ == bulk_.size() || bulk_[begin_].level != level) return std::nullopt;
  if (by_work) {
    const auto first = bulk_.begin() + static_cast<std::ptrdiff_t>(begin_);
    const auto found = std::partition_point(first, bulk_.end(), [&](const QueuedTrial& trial) {
      return trial.level == level && !fits(trial.work);
    });
    const std::size_t place = skip(static_cast<std::size_t>(found - bulk_.begin()));
    const bool found_one =
        place < bulk_.size() && bulk_[place].level == level && fits(bulk_[place].work);
    return found_one ? std::optional(place) : std::nullopt;
  }
  std::size_t place = begin_;
  for (int looked = 0; looked < kLookedAt; ++looked) {
    if (place == bulk_.size() || bulk_[place].level != level) return std::nullopt;
    if (fits(bulk_[place].work)) return place;
    place = skip(place + 1);
  }
  return std::nullopt;
}

std::vector<QueuedTrial> WaitingQueue::first(std::size_t most) const {
  std::vector<QueuedTrial> trials = later_;
  const std::size_t wanted = most + later_.size();
  for (std::size_t place = begin_; place < bulk_.size();) {
    const QueuedTrial& trial = bulk_[place];
    if (sealed_ && trials.size() >= wanted) break;
    if (trial.slot != kTaken) trials.push_back(trial);
    place = trial.slot == kTaken ? trial.position : place + 1;
  }
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
