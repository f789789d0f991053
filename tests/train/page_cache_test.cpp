// SPDX-License-Identifier: Apache-2.0
#include "worker/train/page_cache.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <random>

namespace batchsweep::train {
namespace {

using testing::ElementsAre;

constexpr std::size_t kMega = 1 << 20;

void fill(const PageCache::Block& block, int value) {
  std::fill_n(block.address, block.bytes(), static_cast<std::byte>(value));
}
bool holds(const std::byte* begin, std::size_t bytes, int value) {
  return std::all_of(begin, begin + bytes,
                     [&](std::byte byte) { return byte == static_cast<std::byte>(value); });
}

TEST(PageCache, GivesABlockOfTheSameSizeAgain) {
  PageCache cache;
  PageCache::Block block = *cache.take(kMega);
  std::byte* const address = block.address;
  cache.put(std::move(block));
  EXPECT_EQ(cache.cached(), kMega);
  EXPECT_EQ(cache.take(kMega)->address, address);
  EXPECT_EQ(cache.cached(), 0u);
  EXPECT_EQ(cache.in_use(), kMega);
}

TEST(PageCache, PagesOfOtherBlocksServeOtherSizes) {
  PageCache cache;
  PageCache::Block one = *cache.take(2 * kMega), two = *cache.take(2 * kMega);
  fill(one, 1);
  fill(two, 2);
  cache.put(std::move(one));
  cache.put(std::move(two));

  const PageCache::Block other = *cache.take(3 * kMega);
  EXPECT_TRUE(holds(other.address, 2 * kMega, 2));
  EXPECT_TRUE(holds(other.address + 2 * kMega, kMega, 1));
  EXPECT_EQ(cache.cached(), kMega);  // the rest of the first
  EXPECT_TRUE(holds(cache.take(kMega)->address, kMega, 1));
}

TEST(PageCache, CutsTheBlockNearestInSizeFromAbove) {
  PageCache cache;
  std::vector<PageCache::Block> blocks;
  for (const std::size_t megas : {2, 8, 4}) {
    blocks.push_back(*cache.take(megas * kMega));
    fill(blocks.back(), static_cast<int>(megas));
  }
  for (PageCache::Block& block : blocks) cache.put(std::move(block));
  EXPECT_TRUE(holds(cache.take(3 * kMega)->address, 3 * kMega, 4));
}

TEST(PageCache, KeepsALittleToSpareWhereItIsAllowedTo) {
  PageCache cache({.bytes = kMega, .one_in = 2});  // of a peak of 4 MiB: 3 MiB
  cache.put(*cache.take(4 * kMega));
  const PageCache::Block other = *cache.take(2 * kMega);
  EXPECT_THAT(other.pieces, ElementsAre(2 * kMega));
  EXPECT_TRUE(holds(other.address, 2 * kMega, 0));  // fresh
  EXPECT_EQ(cache.cached(), 4 * kMega);
  const PageCache::Block third = *cache.take(2 * kMega + PageCache::kPage);
  EXPECT_LE(cache.in_use() + cache.cached(),
            4 * kMega + PageCache::kPage + kMega + (4 * kMega + PageCache::kPage) / 2);
  EXPECT_LT(cache.cached(), 4 * kMega);
}

TEST(PageCache, TakesFreshPagesWhileThePeakLeavesRoom) {
  PageCache cache;
  PageCache::Block large = *cache.take(4 * kMega), small = *cache.take(kMega);
  cache.put(std::move(large));
  cache.put(std::move(small));
  cache.empty();
  EXPECT_EQ(cache.cached(), 0u);
  PageCache::Block first = *cache.take(kMega);
  fill(first, 1);
  cache.put(std::move(first));
  const PageCache::Block second = *cache.take(2 * kMega);  // a new peak: half of it is moved
  EXPECT_THAT(second.pieces, ElementsAre(kMega, kMega));
  EXPECT_TRUE(holds(second.address, kMega, 1));
  EXPECT_TRUE(holds(second.address + kMega, kMega, 0));
}

TEST(PageCache, GivesShortRestsBack) {
  PageCache cache;
  const std::size_t rest = PageCache::kLeastPiece - PageCache::kPage;
  PageCache::Block block = *cache.take(kMega);
  cache.put(std::move(block));
  const PageCache::Block most = *cache.take(kMega - rest);
  EXPECT_EQ(most.bytes(), kMega - rest);
  EXPECT_EQ(cache.cached(), 0u);
}

TEST(PageCache, NeverHoldsMoreThanThePeakOfWhatIsInUseAndMixesNothingUp) {
  std::mt19937 random(1);
  PageCache cache;
  std::vector<std::pair<PageCache::Block, int>> live;
  std::size_t peak = 0;
  for (int step = 0; step < 3000; ++step) {
    if (live.size() > 8 || (!live.empty() && random() % 2 == 0)) {
      const std::size_t index = random() % live.size();
      auto& [block, value] = live[index];
      ASSERT_TRUE(holds(block.address, block.bytes(), value)) << step;
      cache.put(std::move(block));
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(index));
    } else {
      PageCache::Block block = *cache.take((1 + random() % 400) * PageCache::kPage);
      fill(block, step % 251);
      live.emplace_back(std::move(block), step % 251);
    }
    peak = std::max(peak, cache.in_use());
    ASSERT_LE(cache.in_use() + cache.cached(), peak) << step;
  }
}

}  // namespace
}  // namespace batchsweep::train
