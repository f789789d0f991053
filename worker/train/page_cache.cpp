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

PageCache::Block PageCache::remove(Age::iterator place) {
  Block block = std::move(*place);
  const std::size_t bytes = block.bytes();
  std::vector<Age::iterator>& same_size = by_size_[bytes];
  same_size.erase(std::find(same_size.begin(), same_size.end(), place));
  by_age_.erase(place);
  cached_ -= bytes;
  return block;
}

std::optional<PageCache::Block> PageCache::take(std::size_t bytes) {
  if (const auto found = by_size_.find(bytes); found != by_size_.end() && !found->second.empty()) {
    in_use_ += bytes;
    return remove(found->second.back());
  }
  const std::size_t peak = std::max(peak_in_use_, in_use_ + bytes);
  const std::size_t may_stay = peak - in_use_ - bytes;
  Block block{.address = map_at(nullptr, bytes), .pieces = {}};
  if (block.address == nullptr) return std::nullopt;
  if (cached_ > may_stay) fill_from_cache(block, cached_ - may_stay);
  const std::size_t filled = block.bytes();
  if (filled < bytes) block.pieces.push_back(bytes - filled);
  in_use_ += bytes;
  peak_in_use_ = peak;
  return block;
}

void PageCache::fill_from_cache(Block& block, std::size_t bytes) {
  std::byte* to = block.address;
  while (bytes > 0 && !by_age_.empty()) {
    Block source = remove(by_age_.begin());
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
    if (source.pieces.empty()) continue;
    const std::size_t rest = source.bytes();
    cached_ += rest;
    by_age_.push_front(std::move(source));
    by_size_[rest].push_back(by_age_.begin());
  }
}

void PageCache::put(Block block) {
  const std::size_t bytes = block.bytes();
  in_use_ -= bytes;
  cached_ += bytes;
  by_age_.push_back(std::move(block));
  by_size_[bytes].push_back(std::prev(by_age_.end()));
}

void PageCache::empty() {
  for (const Block& block : by_age_) unmap(block);
  by_age_.clear();
  by_size_.clear();
  cached_ = 0;
  peak_in_use_ = in_use_;
}

}  // namespace batchsweep::train
