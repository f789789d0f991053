// SPDX-License-Identifier: Apache-2.0
// Compiled and linked with BATCHSWEEP_CUDA; not run on a GPU so far.
#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>
#include <cudnn_version.h>
#include <fmt/format.h>
#include <nccl.h>
#include <torch/csrc/cuda/nccl.h>

#include <algorithm>
#include <deque>
#include <mutex>
#include <optional>

#include "worker/train/device.hpp"
#include "worker/train/trial_errors.hpp"

namespace batchsweep::train {
namespace {

using c10::CachingAllocator::StatType;
using c10::CachingDeviceAllocator::DeviceStats;

constexpr std::size_t kAll = static_cast<std::size_t>(StatType::AGGREGATE);

// Two events a step on the current stream; what the step came to is copied to pinned memory behind
// it, so that reading it never stops the stream. The program may run this many steps ahead.
class CudaStepTimer final : public StepTimer {
 public:
  static constexpr std::size_t kMostAhead = 16;

  void start() override {
    if (pending_.size() >= kMostAhead) take_oldest();
    pending_.emplace_back();
    pending_.back().start.record();
  }
  void stop(const at::Tensor& loss, const at::Tensor& found_inf) override {
    Pending& step = pending_.back();
    step.loss_and_inf = at::zeros({2}, at::TensorOptions().dtype(at::kFloat).pinned_memory(true));
    step.loss_and_inf[0].copy_(loss, /*non_blocking=*/true);
    if (found_inf.defined()) step.loss_and_inf[1].copy_(found_inf, /*non_blocking=*/true);
    step.stop.record();
    step.stopped = true;
  }
  std::vector<FinishedStep> finished() override {
    while (!pending_.empty() && pending_.front().stopped && pending_.front().stop.query())
      take_oldest();
    return std::exchange(finished_, {});
  }
  std::vector<FinishedStep> all_finished() override {
    while (!pending_.empty() && pending_.front().stopped) take_oldest();
    return std::exchange(finished_, {});
  }

 private:
  struct Pending {
    at::cuda::CUDAEvent start{cudaEventDefault}, stop{cudaEventDefault};
    at::Tensor loss_and_inf;
    bool stopped = false;
  };
  void take_oldest() {
    Pending& step = pending_.front();
    step.stop.synchronize();
    const float* loss_and_inf = step.loss_and_inf.const_data_ptr<float>();
    finished_.push_back({.time_s = step.start.elapsed_time(step.stop) * 1e-3,
                         .loss = loss_and_inf[0],
                         .applied = loss_and_inf[1] == 0});
    pending_.pop_front();
  }

  std::deque<Pending> pending_;
  std::vector<FinishedStep> finished_;
};

class CudaDevice final : public Device {
 public:
  explicit CudaDevice(c10::DeviceIndex index, std::optional<std::uint64_t> limit_bytes)
      : index_(index) {
    const cudaDeviceProp* properties = at::cuda::getDeviceProperties(index);
    capability_major_ = properties->major;
    if (limit_bytes) {
      const double fraction =
          static_cast<double>(*limit_bytes) / static_cast<double>(properties->totalGlobalMem);
      c10::cuda::CUDACachingAllocator::setMemoryFraction(std::min(1.0, fraction), index);
    }
    c10::cuda::CUDACachingAllocator::attachOutOfMemoryObserver(
        [this, limit_bytes](int64_t, size_t requested, size_t total, size_t) {
          record_out_of_memory(requested, limit_bytes ? *limit_bytes : total);
        });
  }

  c10::Device where() const override { return {c10::kCUDA, index_}; }
  void synchronize() override { c10::cuda::device_synchronize(); }
  std::unique_ptr<StepTimer> make_step_timer() override {
    return std::make_unique<CudaStepTimer>();
  }
  PeakMemory take_peaks() override {
    const DeviceStats stats = c10::cuda::CUDACachingAllocator::getDeviceStats(index_);
    std::size_t free = 0, total = 0;
    C10_CUDA_CHECK(cudaMemGetInfo(&free, &total));
    c10::cuda::CUDACachingAllocator::resetPeakStats(index_);
    // The allocator gives nothing back to the driver while training goes well, so what the device
    // holds now is the most it held.
    return {.allocated_bytes = static_cast<double>(stats.allocated_bytes[kAll].peak),
            .reserved_bytes = static_cast<double>(stats.reserved_bytes[kAll].peak),
            .device_used_bytes = static_cast<double>(total - free)};
  }
  std::optional<OutOfMemory> out_of_memory() const override {
    const std::lock_guard lock(mutex_);
    return out_of_memory_;
  }
  bool has_bf16() const override { return capability_major_ >= 8; }
  bool has_fp16() const override { return true; }
  bool refuses_bf16() const override { return capability_major_ < 8; }
  bool has_tf32() const override { return capability_major_ >= 8; }

 private:
  void record_out_of_memory(std::size_t requested, std::uint64_t limit) {
    const DeviceStats stats = c10::cuda::CUDACachingAllocator::getDeviceStats(index_);
    const std::lock_guard lock(mutex_);
    out_of_memory_ = OutOfMemory{.requested_bytes = static_cast<std::int64_t>(requested),
                                 .allocated_bytes = stats.allocated_bytes[kAll].current,
                                 .reserved_bytes = stats.reserved_bytes[kAll].current,
                                 .limit_bytes = static_cast<std::int64_t>(limit)};
  }

  c10::DeviceIndex index_;
  int capability_major_ = 0;
  mutable std::mutex mutex_;
  std::optional<OutOfMemory> out_of_memory_;
};

std::string uuid_text(const cudaUUID_t& uuid) {
  std::string text = "GPU-";
  for (std::size_t i = 0; i < sizeof uuid.bytes; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", static_cast<unsigned char>(uuid.bytes[i]));
  }
  return text;
}

// The one with that UUID; where none is named, or it is a MIG slice (whose UUID the runtime does
// not tell), the first visible one.
c10::DeviceIndex index_of(const std::string& uuid) {
  const c10::DeviceIndex count = c10::cuda::device_count();
  if (count == 0)
    throw Unsupported(
        "no CUDA device is visible: look at the driver (batchsweep doctor) and "
        "CUDA_VISIBLE_DEVICES");
  for (c10::DeviceIndex index = 0; index < count; ++index) {
    if (uuid_text(at::cuda::getDeviceProperties(index)->uuid) == uuid) return index;
  }
  return 0;
}

std::string dotted(long version, long major_unit, long minor_unit) {
  return fmt::format("{}.{}.{}", version / major_unit, version % major_unit / minor_unit,
                     version % minor_unit);
}

}  // namespace

std::unique_ptr<Device> open_cuda_device(const protocol::TrialDevice& device) {
  const c10::DeviceIndex index = index_of(device.uuid);
  c10::cuda::set_device(index);
  at::globalContext().lazyInitDevice(c10::kCUDA);
  return std::make_unique<CudaDevice>(index, device.limit_bytes);
}

CudaVersions cuda_versions() {
  const at::CUDAHooksInterface& hooks = at::detail::getCUDAHooks();
  const long cudnn = hooks.versionRuntimeCuDNN();
  const auto nccl = torch::cuda::nccl::version();  // three 16-bit parts above each other
  static_assert(NCCL_VERSION_CODE == NCCL_VERSION(2, 28, 9),
                "compile against the nccl.h of LibTorch's own NCCL");
  return {.cuda = fmt::format("{}.{}", CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10),
          .cudnn = dotted(cudnn, 10000, 100),
          .nccl = fmt::format("{}.{}.{}", nccl >> 32, nccl >> 16 & 0xffff, nccl & 0xffff)};
}

}  // namespace batchsweep::train
