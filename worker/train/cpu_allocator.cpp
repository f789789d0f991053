// SPDX-License-Identifier: Apache-2.0
#include "worker/train/cpu_allocator.hpp"

#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "base/check.hpp"
#include "base/units.hpp"

namespace batchsweep::train {
namespace {

// In front of every block. The data pointer is the context pointer too: oneDNN takes its scratch
// memory through raw_allocate, which insists on that, so there is no other place for a block's
// size.
struct alignas(64) Header {
  CpuAllocator* owner;
  std::size_t bytes;        // as asked for
  PageCache::Block* pages;  // nullptr: from malloc
};
static_assert(sizeof(Header) == 64);

Header* header_of(void* data) { return static_cast<Header*>(data) - 1; }

std::size_t whole_pages(std::size_t bytes) {
  return (bytes + PageCache::kPage - 1) / PageCache::kPage * PageCache::kPage;
}

std::int64_t as_signed(std::size_t bytes) { return static_cast<std::int64_t>(bytes); }

}  // namespace

void CpuAllocator::Counter::raise_peak(std::int64_t value) {
  std::int64_t seen = peak;
  while (value > seen && !peak.compare_exchange_weak(seen, value)) {
  }
}

void CpuAllocator::Counter::add(std::int64_t bytes) { raise_peak(now.fetch_add(bytes) + bytes); }

c10::DataPtr CpuAllocator::allocate(std::size_t bytes) {
  if (bytes == 0) return {nullptr, nullptr, &release, c10::Device(c10::kCPU)};
  if (bytes > static_cast<std::size_t>(kNoLimit / 2)) refuse(bytes, false);
  const std::int64_t wanted = allocated_.now.fetch_add(as_signed(bytes)) + as_signed(bytes);
  if (wanted > limit_) {
    allocated_.now -= as_signed(bytes);
    refuse(bytes, false);
  }
  const std::size_t whole = bytes + sizeof(Header);
  std::unique_ptr<PageCache::Block> pages;
  void* block = nullptr;
  if (bytes >= kMappedFrom) {
    pages = std::make_unique<PageCache::Block>();
    block = take_pages(whole_pages(whole), *pages);
  } else if (::posix_memalign(&block, alignof(Header), whole) == 0) {
    reserved_.add(as_signed(whole));
  } else {
    block = nullptr;
  }
  if (block == nullptr) {
    allocated_.now -= as_signed(bytes);
    refuse(bytes, true);
  }
  allocated_.raise_peak(wanted);
  auto* header = new (block) Header{.owner = this, .bytes = bytes, .pages = pages.release()};
  void* data = header + 1;
  return {data, data, &release, c10::Device(c10::kCPU)};
}

void CpuAllocator::release(void* data) {
  if (data != nullptr) header_of(data)->owner->free_block(header_of(data));
}

void CpuAllocator::free_block(void* block) {
  const Header header = *static_cast<Header*>(block);
  allocated_.now -= as_signed(header.bytes);
  if (header.pages != nullptr) {
    const std::unique_ptr<PageCache::Block> pages(header.pages);
    const std::lock_guard lock(mutex_);
    pages_.put(std::move(*pages));
  } else {
    std::free(block);
    reserved_.now -= as_signed(header.bytes + sizeof(Header));
  }
}

void* CpuAllocator::take_pages(std::size_t bytes, PageCache::Block& block) {
  const std::lock_guard lock(mutex_);
  auto taken = pages_.take(bytes);
  if (!taken) return nullptr;
  block = std::move(*taken);
  note_reserved_pages();
  return block.address;
}

void CpuAllocator::note_reserved_pages() {
  const std::int64_t pages = as_signed(pages_.in_use() + pages_.cached());
  reserved_.add(pages - reserved_pages_);
  reserved_pages_ = pages;
}

void CpuAllocator::empty_cache() {
  const std::lock_guard lock(mutex_);
  pages_.empty();
  note_reserved_pages();
}

void CpuAllocator::reset_peaks() {
  allocated_.peak = allocated_.now.load();
  reserved_.peak = reserved_.now.load();
}

std::optional<OutOfMemory> CpuAllocator::out_of_memory() const {
  const std::lock_guard lock(mutex_);
  return out_of_memory_;
}

void CpuAllocator::refuse(std::size_t bytes, bool by_host) {
  const OutOfMemory evidence{
      .requested_bytes =
          static_cast<std::int64_t>(std::min(bytes, static_cast<std::size_t>(kNoLimit))),
      .allocated_bytes = allocated_.now,
      .reserved_bytes = reserved_.now,
      .limit_bytes = limit_ == kNoLimit ? std::nullopt : std::optional<std::int64_t>(limit_),
      .by_host = by_host};
  {
    const std::lock_guard lock(mutex_);
    out_of_memory_ = evidence;
  }
  TORCH_CHECK_WITH(OutOfMemoryError, false, "out of memory on the CPU: asked for ", bytes,
                   " bytes, ", evidence.allocated_bytes, " allocated",
                   by_host ? ", the host has no more"
                           : ", limit " + std::to_string(evidence.limit_bytes.value_or(0)));
}

c10::DeleterFnPtr CpuAllocator::raw_deleter() const { return &release; }

void CpuAllocator::copy_data(void* to, const void* from, std::size_t bytes) const {
  default_copy_data(to, from, bytes);
}

CpuAllocator& install_cpu_allocator() {
  static CpuAllocator* const allocator = [] {
    auto* made = new CpuAllocator;
    c10::SetCPUAllocator(made, /*priority=*/1);
    return made;
  }();
  return *allocator;
}

}  // namespace batchsweep::train
