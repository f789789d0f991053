// SPDX-License-Identifier: Apache-2.0
#include "worker/train/page_cache.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <numeric>

namespace batchsweep::train {
namespace {

std::byte* map_at(std::byte* address, std::size_t bytes) {
  const int fixed = address == nullptr ? 0 : MAP_FIXED;
  void* mapped =
      ::mmap(address, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | fixed, -1, 0);
  return mapped == MAP_FAILED ? nullptr : static_cast<std::byte*>(mapped);
}

void unmap(const PageCache::Block& block) { ::munmap(block.address, block.bytes()); }

// The pages of `from` stand at `to` afterwards, where untouched memory was; nothing is at `from`.
void move_pages(std::byte* from, std::byte* to, std::size_t bytes) {
  if (::mremap(from, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, to) != MAP_FAILED) return;
  // The kernel would not (too many mappings): fresh pages do as well, only slower.
  map_at(to, bytes);
  ::munmap(from, bytes);
}

}  // namespace

std::size_t PageCache::Block::bytes() const {
  return std::accumulate(pieces.begin(), pieces.end(), std::size_t{0});
}

PageCache::Block PageCache::remove(Blocks::iterator place) {
  cached_ -= place->first;
  return std::move(blocks_.extract(place).mapped());
}

void PageCache::keep(Block block) {
  const std::size_t bytes = block.bytes();
  cached_ += bytes;
  blocks_.emplace(bytes, std::move(block));
}

std::optional<PageCache::Block> PageCache::take(std::size_t bytes) {
  if (const auto [first, last] = blocks_.equal_range(bytes); first != last) {
    in_use_ += bytes;
    return remove(std::prev(last));
  }
  const std::size_t peak = std::max(peak_in_use_, in_use_ + bytes);
  const std::size_t may_stay = peak + spare_.of(peak) - in_use_ - bytes;
  Block block{.address = map_at(nullptr, bytes), .pieces = {}};
  if (block.address == nullptr) return std::nullopt;
  if (cached_ > may_stay) fill_from_cache(block, bytes);
  const std::size_t filled = block.bytes();
  if (filled < bytes) block.pieces.push_back(bytes - filled);
  in_use_ += bytes;
  peak_in_use_ = peak;
  return block;
}

void PageCache::fill_from_cache(Block& block, std::size_t bytes) {
  std::byte* to = block.address;
  while (bytes > 0 && !blocks_.empty()) {
    const auto nearest = blocks_.lower_bound(bytes);
    Block source = remove(nearest == blocks_.end() ? std::prev(nearest) : nearest);
    std::size_t moved_pieces = 0;
    for (std::size_t& piece : source.pieces) {
      const std::size_t moved = std::min(piece, bytes);
      if (moved < kLeastPiece && moved < bytes) {
        ::munmap(source.address, moved);
      } else if (moved > 0) {
        move_pages(source.address, to, moved);
        to += moved;
        block.pieces.push_back(moved);
      }
      source.address += moved;
      bytes -= moved;
      piece -= moved;
      if (piece > 0) break;
      ++moved_pieces;
    }
    source.pieces.erase(source.pieces.begin(),
                        source.pieces.begin() + static_cast<std::ptrdiff_t>(moved_pieces));
    if (source.pieces.empty()) continue;
    if (const std::size_t rest = source.pieces.front(); rest < kLeastPiece) {
      ::munmap(source.address, rest);
      source.address += rest;
      source.pieces.erase(source.pieces.begin());
    }
    if (!source.pieces.empty()) keep(std::move(source));
  }
}

void PageCache::put(Block block) {
  in_use_ -= block.bytes();
  keep(std::move(block));
}

void PageCache::empty() {
  for (const auto& [bytes, block] : blocks_) unmap(block);
  blocks_.clear();
  cached_ = 0;
  peak_in_use_ = in_use_;
}

}  // namespace batchsweep::train
