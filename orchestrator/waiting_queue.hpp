// SPDX-License-Identifier: Apache-2.0
// The waiting trials of one queue in their order. A million idle trials are one flat array, sorted
// when first asked; what comes back later (retries) goes into a small heap beside it. Knows nothing
// of what the numbers mean.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace batchsweep::orchestrator {

// What is smaller starts first: the level, then the rank within it, then the position.
struct QueuedTrial {
  std::uint32_t level = 0;
  float rank = 0;
  std::uint32_t position = 0;
  std::uint32_t slot = 0;
  float work = 0;
  auto operator<=>(const QueuedTrial&) const = default;
};

class WaitingQueue {
 public:
  void add(const QueuedTrial& trial);
  [[nodiscard]] bool empty() const { return size() == 0; }
  [[nodiscard]] std::size_t size() const { return bulk_.size() - taken_ + later_.size(); }
  [[nodiscard]] QueuedTrial front();
  QueuedTrial pop();
  // The first of the front's level whose work `fits`, as a place for at() and take(). `by_work`:
  // the level stands with most work first, so that it is found at once; else only the first few are
  // looked at. nullopt: none, as far as that tells.
  using Fits = std::function<bool(double work)>;
  [[nodiscard]] std::optional<std::size_t> find(const Fits& fits, bool by_work);
  [[nodiscard]] const QueuedTrial& at(std::size_t place) const { return bulk_[place]; }
  void take(std::size_t place);
  // Of all that wait here.
  [[nodiscard]] double work_sum() const { return work_sum_; }
  // The first so many in order.
  [[nodiscard]] std::vector<QueuedTrial> first(std::size_t most) const;

 private:
  void seal();
  [[nodiscard]] std::size_t skip(std::size_t place);

  // Sorted once sealed. What was taken has slot kTaken, and its position says where to look on.
  std::vector<QueuedTrial> bulk_;
  std::size_t begin_ = 0, taken_ = 0;
  bool sealed_ = false;
  std::vector<QueuedTrial> later_;  // heap, smallest first
  double work_sum_ = 0;
};

// A place in 0 .. 2^32-1 that depends on slot and seed only, another for each slot.
[[nodiscard]] std::uint32_t shuffled(std::uint32_t slot, std::uint64_t seed);

}  // namespace batchsweep::orchestrator
