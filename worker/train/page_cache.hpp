// SPDX-License-Identifier: Apache-2.0
// Large blocks of memory from the system, whose pages are used again: the resident set follows the
// peak of what is in use, and after the first step hardly a page is fetched anew. Knows nothing of
// tensors. One thread at a time.
#pragma once

#include <cstddef>
#include <list>
#include <optional>
#include <unordered_map>
#include <vector>

namespace batchsweep::train {

// Blocks that were put back serve requests of exactly their size. Where a request finds none and
// the cache may not grow, the pages of the oldest blocks are moved under the new block's addresses
// (mremap): no page is given back, fetched and cleared, and blocks in use and cached together never
// pass the peak of those in use.
class PageCache {
 public:
  static constexpr std::size_t kPage = 4096;
  // Shorter stretches are given back instead of moved, so that blocks do not crumble.
  static constexpr std::size_t kLeastPiece = 16 * kPage;

  struct Block {
    std::byte* address = nullptr;
    std::vector<std::size_t> pieces;  // bytes of each stretch that was mapped or moved as one
    [[nodiscard]] std::size_t bytes() const;
  };

  PageCache() = default;
  ~PageCache() { empty(); }
  PageCache(const PageCache&) = delete;
  PageCache& operator=(const PageCache&) = delete;

  // `bytes`: whole pages. nullopt: the system has no more.
  [[nodiscard]] std::optional<Block> take(std::size_t bytes);
  void put(Block block);
  // Gives every cached block back; the peak starts anew from what is in use.
  void empty();

  [[nodiscard]] std::size_t in_use() const { return in_use_; }
  [[nodiscard]] std::size_t cached() const { return cached_; }

 private:
  using Age = std::list<Block>;  // oldest first

  Block remove(Age::iterator place);
  // Moves `bytes` of the oldest pages to the front of `block`, at most.
  void fill_from_cache(Block& block, std::size_t bytes);

  Age by_age_;
  std::unordered_map<std::size_t, std::vector<Age::iterator>> by_size_;  // newest last
  std::size_t in_use_ = 0, cached_ = 0, peak_in_use_ = 0;
};

}  // namespace batchsweep::train
