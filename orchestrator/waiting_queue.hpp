// SPDX-License-Identifier: Apache-2.0
// The waiting trials of one kind in the order of their keys. A million idle trials are one flat
// array, sorted when first asked; what comes back later (retries) goes into a small heap beside it.
// Knows nothing of what keys mean.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

namespace batchsweep::orchestrator {

struct QueuedTrial {
  std::uint64_t key = 0;
  std::uint32_t slot = 0;
  auto operator<=>(const QueuedTrial&) const = default;
};

class WaitingQueue {
 public:
  void add(QueuedTrial trial);
  [[nodiscard]] bool empty() const { return size() == 0; }
  [[nodiscard]] std::size_t size() const { return bulk_.size() - taken_ + later_.size(); }
  [[nodiscard]] QueuedTrial front();
  [[nodiscard]] std::uint32_t pop();
  // The first so many in order.
  [[nodiscard]] std::vector<QueuedTrial> first(std::size_t most) const;

 private:
  void seal();

  std::vector<QueuedTrial> bulk_;  // sorted once sealed; the first taken_ are gone
  std::size_t taken_ = 0;
  bool sealed_ = false;
  std::vector<QueuedTrial> later_;  // heap, smallest first
};

// A place in 0 .. 2^32-1 that depends on slot and seed only, another for each slot.
[[nodiscard]] std::uint32_t shuffled(std::uint32_t slot, std::uint64_t seed);

}  // namespace batchsweep::orchestrator
