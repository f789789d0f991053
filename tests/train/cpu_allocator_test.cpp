// SPDX-License-Identifier: Apache-2.0
#include "worker/train/cpu_allocator.hpp"

#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include <cstring>
#include <thread>
#include <vector>

namespace batchsweep::train {
namespace {

constexpr std::size_t kMiB = 1 << 20;
constexpr std::int64_t kMappedMiB = kMiB + 4096;  // a page more: the header in front

TEST(CpuAllocator, CountsWhatWasAskedForAndWhatTheSystemGave) {
  CpuAllocator allocator;
  const auto small = allocator.allocate(100);
  const auto big = allocator.allocate(kMiB);
  EXPECT_EQ(allocator.allocated(), 100 + static_cast<std::int64_t>(kMiB));
  EXPECT_EQ(allocator.reserved(), 100 + 64 + kMappedMiB);
}

TEST(CpuAllocator, GivesMemoryThatIsAlignedWritableAndItsOwnContext) {
  CpuAllocator allocator;
  for (const std::size_t bytes : {1ul, 63ul, 65535ul, 65536ul, 5 * kMiB}) {
    const auto block = allocator.allocate(bytes);
    std::memset(block.get(), 1, bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block.get()) % 64, 0u);
    EXPECT_EQ(block.get(), block.get_context());
  }
  EXPECT_EQ(allocator.allocate(0).get(), nullptr);
}

TEST(CpuAllocator, KeepsPeaksUntilTheyAreReset) {
  CpuAllocator allocator;
  { const auto passing = allocator.allocate(3 * kMiB); }
  const auto lasting = allocator.allocate(kMiB);
  EXPECT_EQ(allocator.peak_allocated(), static_cast<std::int64_t>(3 * kMiB));
  allocator.reset_peaks();
  EXPECT_EQ(allocator.peak_allocated(), static_cast<std::int64_t>(kMiB));  // what is live counts
}

TEST(CpuAllocator, ReusesAFreedBlockOfTheSameSize) {
  CpuAllocator allocator;
  auto first = allocator.allocate(kMiB);
  void* const address = first.get();
  first.clear();
  EXPECT_EQ(allocator.reserved(), kMappedMiB);
  EXPECT_EQ(allocator.allocate(kMiB).get(), address);
}

TEST(CpuAllocator, HoldsHardlyMoreThanThePeakOfTheLiveBlocks) {
  CpuAllocator allocator;
  {
    const auto a = allocator.allocate(40 * kMiB);
    const auto b = allocator.allocate(20 * kMiB);
  }
  const std::int64_t peak = 60 * static_cast<std::int64_t>(kMiB) + 2 * 4096;
  EXPECT_EQ(allocator.reserved(), peak);  // both cached
  std::vector<c10::DataPtr> other_sizes;
  for (const std::size_t mib : {10ul, 30ul}) other_sizes.push_back(allocator.allocate(mib * kMiB));
  const std::int64_t spare = 4 * static_cast<std::int64_t>(kMiB) + peak / 100;
  EXPECT_LE(allocator.reserved(), peak + spare);
  EXPECT_LE(allocator.peak_reserved(), peak + spare);
}

TEST(CpuAllocator, PassesALimitOfThePeakAndRefusesOneByteLess) {
  const auto work = [](CpuAllocator& allocator) {
    const auto a = allocator.allocate(kMiB);
    const auto b = allocator.allocate(100);
  };
  CpuAllocator allocator;
  work(allocator);
  const std::int64_t peak = allocator.peak_allocated();
  allocator.set_limit(peak);
  EXPECT_NO_THROW(work(allocator));
  EXPECT_FALSE(allocator.out_of_memory());
  allocator.set_limit(peak - 1);
  EXPECT_THROW(work(allocator), c10::OutOfMemoryError);
  EXPECT_EQ(allocator.allocated(), 0);
}

TEST(CpuAllocator, RemembersWhatItRefused) {
  CpuAllocator allocator;
  allocator.set_limit(2 * static_cast<std::int64_t>(kMiB));
  const auto live = allocator.allocate(kMiB);
  EXPECT_THROW(allocator.allocate(3 * kMiB), c10::OutOfMemoryError);
  ASSERT_TRUE(allocator.out_of_memory());
  EXPECT_EQ(allocator.out_of_memory()->requested_bytes, 3 * static_cast<std::int64_t>(kMiB));
  EXPECT_EQ(allocator.out_of_memory()->allocated_bytes, static_cast<std::int64_t>(kMiB));
  EXPECT_EQ(allocator.out_of_memory()->reserved_bytes, kMappedMiB);
  EXPECT_EQ(allocator.out_of_memory()->limit_bytes, 2 * static_cast<std::int64_t>(kMiB));
  EXPECT_FALSE(allocator.out_of_memory()->by_host);
}

TEST(CpuAllocator, TellsWhenItIsTheHostThatHasNoMore) {
  CpuAllocator allocator;
  EXPECT_THROW(allocator.allocate(std::size_t{1} << 60), c10::OutOfMemoryError);
  ASSERT_TRUE(allocator.out_of_memory());
  EXPECT_TRUE(allocator.out_of_memory()->by_host);
  EXPECT_EQ(allocator.out_of_memory()->limit_bytes, std::nullopt);
  EXPECT_EQ(allocator.allocated(), 0);
}

TEST(CpuAllocator, CountsRightFromManyThreads) {
  CpuAllocator allocator;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (std::size_t i = 0; i < 2000; ++i) {
        const auto small = allocator.allocate(64 + i % 7);
        const auto big = allocator.allocate(65536 + 4096 * (i % 5));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(allocator.allocated(), 0);
  allocator.empty_cache();
  EXPECT_EQ(allocator.reserved(), 0);
}

TEST(CpuAllocator, ServesLibTorchAndComesBackToWhereItStartedAfterAnOutOfMemory) {
  CpuAllocator& allocator = install_cpu_allocator();
  const auto work = [] {
    at::Tensor weight = at::randn({64, 16, 3, 3});
    weight.requires_grad_(true);
    at::conv2d(at::randn({32, 16, 56, 56}), weight).relu().sum().backward();
  };
  work();  // oneDNN's own caches
  const std::int64_t start = allocator.allocated();
  allocator.reset_peaks();
  work();
  const std::int64_t peak = allocator.peak_allocated();
  EXPECT_GT(peak, start + 32 * 64 * 54 * 54 * 4);
  EXPECT_EQ(allocator.allocated(), start);
  for (const double part : {0.3, 0.6, 0.9, 0.99}) {
    allocator.set_limit(start +
                        static_cast<std::int64_t>(part * static_cast<double>(peak - start)));
    EXPECT_THROW(work(), c10::OutOfMemoryError) << part;
    EXPECT_EQ(allocator.allocated(), start) << part;
  }
  allocator.set_limit(CpuAllocator::kNoLimit);
  EXPECT_NO_THROW(work());
}

}  // namespace
}  // namespace batchsweep::train
