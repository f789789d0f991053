// SPDX-License-Identifier: Apache-2.0
// LibTorch's CPU memory, counted, cached and capped: what makes a CPU a device with a memory of its
// own size, as a GPU is. Knows nothing of trials. docs/measurement.md says what is counted.
#pragma once

#include <c10/core/Allocator.h>

#include <atomic>
#include <cstdint>
#include <limits>
#include <mutex>
#include <optional>

#include "worker/train/out_of_memory.hpp"
#include "worker/train/page_cache.hpp"

namespace batchsweep::train {

// Blocks of 64 KiB and more come from a page cache, which holds hardly more than the peak of what
// is live, so that the resident set follows the counted peak. Smaller blocks come from malloc.
// `allocated` counts the bytes asked for, `reserved` those taken from the system. Any thread may
// call.
class CpuAllocator final : public c10::Allocator {
 public:
  static constexpr std::size_t kMappedFrom = 64 * 1024;
  static constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

  c10::DataPtr allocate(std::size_t bytes) override;
  c10::DeleterFnPtr raw_deleter() const override;
  void copy_data(void* to, const void* from, std::size_t bytes) const override;

  // Allocations that would bring `allocated` over it throw c10::OutOfMemoryError.
  void set_limit(std::int64_t bytes) { limit_ = bytes; }
  [[nodiscard]] std::int64_t limit() const { return limit_; }
  [[nodiscard]] std::int64_t allocated() const { return allocated_.now; }
  [[nodiscard]] std::int64_t reserved() const { return reserved_.now; }
  [[nodiscard]] std::int64_t peak_allocated() const { return allocated_.peak; }
  [[nodiscard]] std::int64_t peak_reserved() const { return reserved_.peak; }
  // From here on the peaks are those of what is live now and what comes.
  void reset_peaks();
  // The last refusal, if there was one. Code between us and the catcher may turn the exception into
  // another type; this stays.
  [[nodiscard]] std::optional<OutOfMemory> out_of_memory() const;
  // Gives every cached block back to the system.
  void empty_cache();

 private:
  struct Counter {
    std::atomic<std::int64_t> now{0}, peak{0};
    void add(std::int64_t bytes);
    void raise_peak(std::int64_t value);
  };

  static void release(void* data);
  void free_block(void* block);
  void* take_pages(std::size_t bytes, PageCache::Block& block);
  void note_reserved_pages();
  [[noreturn]] void refuse(std::size_t bytes, bool by_host);

  Counter allocated_, reserved_;
  std::atomic<std::int64_t> limit_{kNoLimit};

  mutable std::mutex mutex_;  // of everything below
  // Half of what the resident set may differ from the count, less what else a process keeps.
  PageCache pages_{{.bytes = 4 << 20, .one_in = 100}};
  std::int64_t reserved_pages_ = 0;
  std::optional<OutOfMemory> out_of_memory_;
};

// The one that LibTorch uses from here on. Before the first tensor, once; it is never destroyed,
// because tensors may outlive main.
CpuAllocator& install_cpu_allocator();

}  // namespace batchsweep::train
