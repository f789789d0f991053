// SPDX-License-Identifier: Apache-2.0
// Large blocks of memory from the system, whose pages are used again: the resident set follows the
// peak of what is in use, and after the first step hardly a page is fetched anew. Knows nothing of
// tensors. One thread at a time.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <vector>

namespace batchsweep::train {

// Blocks that were put back serve requests of exactly their size. Where a request finds none and
// the cache may not grow, pages of other blocks are moved under the new block's addresses (mremap):
// no page is given back, fetched and cleared, and blocks in use and cached together never pass the
// peak of those in use and a little to spare. Taken is the block nearest in size from above, else
// the largest: of what was tried that moves the fewest stretches.
class PageCache {
 public:
  static constexpr std::size_t kPage = 4096;
  // Shorter stretches are given back instead of moved, so that blocks do not crumble.
  static constexpr std::size_t kLeastPiece = 64 * kPage;

  // How far blocks in use and cached may together pass the peak of those in use: the more, the more
  // often a request finds its size.
  struct Spare {
    std::size_t bytes = 0;
    std::size_t one_in = 0;  // and this part of the peak; 0: none
    [[nodiscard]] std::size_t of(std::size_t peak) const {
      return bytes + (one_in == 0 ? 0 : peak / one_in);
    }
  };
  struct Block {
    std::byte* address = nullptr;
    std::vector<std::size_t> pieces;  // bytes of each stretch that was mapped or moved as one
    [[nodiscard]] std::size_t bytes() const;
  };

  // Nothing to spare: what is cached never lets the whole pass the peak of what is in use.
  PageCache() = default;
  explicit PageCache(Spare spare) : spare_(spare) {}
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
  using Blocks = std::multimap<std::size_t, Block>;  // by size, of one size the newest last

  Block remove(Blocks::iterator place);
  void keep(Block block);
  // Moves `bytes` of cached pages to the front of `block`, at most.
  void fill_from_cache(Block& block, std::size_t bytes);

  Spare spare_;
  Blocks blocks_;
  std::size_t in_use_ = 0, cached_ = 0, peak_in_use_ = 0;
};

}  // namespace batchsweep::train
