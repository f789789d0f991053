// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <chrono>

#include "worker/train/cpu_allocator.hpp"
#include "worker/train/device.hpp"

namespace batchsweep::train {
namespace {

using SteadyClock = std::chrono::steady_clock;

// Operators return when their work is done, so the clock is read at once.
class CpuStepTimer final : public StepTimer {
 public:
  void start() override { started_ = SteadyClock::now(); }
  void stop(const at::Tensor& loss, const at::Tensor& found_inf) override {
    const double loss_value = loss.item<double>();
    const bool applied = !found_inf.defined() || found_inf.item<double>() == 0;
    const std::chrono::duration<double> time = SteadyClock::now() - started_;
    finished_.push_back({.time_s = time.count(), .loss = loss_value, .applied = applied});
  }
  std::vector<FinishedStep> finished() override { return std::exchange(finished_, {}); }
  std::vector<FinishedStep> all_finished() override { return finished(); }

 private:
  SteadyClock::time_point started_;
  std::vector<FinishedStep> finished_;
};

class CpuDevice final : public Device {
 public:
  explicit CpuDevice(CpuAllocator& allocator) : allocator_(allocator) {}

  c10::Device where() const override { return c10::kCPU; }
  void synchronize() override {}
  std::unique_ptr<StepTimer> make_step_timer() override { return std::make_unique<CpuStepTimer>(); }
  PeakMemory take_peaks() override {
    const PeakMemory peaks{.allocated_bytes = static_cast<double>(allocator_.peak_allocated()),
                           .reserved_bytes = static_cast<double>(allocator_.peak_reserved()),
                           .device_used_bytes = std::nullopt};
    allocator_.reset_peaks();
    return peaks;
  }
  std::optional<OutOfMemory> out_of_memory() const override { return allocator_.out_of_memory(); }
  bool has_bf16() const override { return __builtin_cpu_supports("avx512bf16") != 0; }
  bool has_fp16() const override { return __builtin_cpu_supports("avx512fp16") != 0; }
  bool refuses_bf16() const override { return false; }
  bool has_tf32() const override { return false; }

 private:
  CpuAllocator& allocator_;
};

}  // namespace

std::unique_ptr<Device> open_cpu_device(const protocol::TrialDevice& device) {
  CpuAllocator& allocator = install_cpu_allocator();
  if (device.limit_bytes) allocator.set_limit(static_cast<std::int64_t>(*device.limit_bytes));
  at::set_num_threads(static_cast<int>(device.threads));
  at::set_num_interop_threads(1);
  return std::make_unique<CpuDevice>(allocator);
}

}  // namespace batchsweep::train
