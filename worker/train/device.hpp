// SPDX-License-Identifier: Apache-2.0
// The device of a trial process as the training loop sees it: where tensors live, when work is
// finished, how much memory it took. Behind it cpu_device.cpp and cuda_device.cpp (or
// no_cuda_device.cpp). Knows nothing of models.
#pragma once

#include <c10/core/Device.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "results/record/trial_record.hpp"
#include "worker/protocol/trial_input.hpp"
#include "worker/train/out_of_memory.hpp"

namespace at {
class Tensor;
}

namespace batchsweep::train {

// Highest values since the last question. Absent: this device does not know.
struct PeakMemory {
  results::Number allocated_bytes, reserved_bytes, device_used_bytes;
};
// Of two stretches of time.
[[nodiscard]] PeakMemory highest(const PeakMemory& a, const PeakMemory& b);

struct FinishedStep {
  double time_s;
  double loss;
  bool applied;  // false: a loss scaler left the update out
};

// Times steps by the device's own clock. A GPU works behind the program: its steps come back
// finished some time after they were stopped, and asking for them never waits unless told to.
class StepTimer {
 public:
  virtual ~StepTimer() = default;
  virtual void start() = 0;
  // `found_inf`: StepResult's.
  virtual void stop(const at::Tensor& loss, const at::Tensor& found_inf) = 0;
  // Those finished since the last question, in order.
  [[nodiscard]] virtual std::vector<FinishedStep> finished() = 0;
  // After waiting for the last one.
  [[nodiscard]] virtual std::vector<FinishedStep> all_finished() = 0;
};

class Device {
 public:
  virtual ~Device() = default;
  [[nodiscard]] virtual c10::Device where() const = 0;
  // Returns once everything asked of the device is done.
  virtual void synchronize() = 0;
  [[nodiscard]] virtual std::unique_ptr<StepTimer> make_step_timer() = 0;
  // The peaks since the last call (the first: since the start); the next ones start from what is
  // live now.
  [[nodiscard]] virtual PeakMemory take_peaks() = 0;
  // Set once an allocation was refused, whatever became of the exception.
  [[nodiscard]] virtual std::optional<OutOfMemory> out_of_memory() const = 0;
  // In hardware.
  [[nodiscard]] virtual bool has_bf16() const = 0;
  [[nodiscard]] virtual bool has_fp16() const = 0;
  // Emulating bf16 would only be slow and say nothing about the card: the trial is skipped.
  [[nodiscard]] virtual bool refuses_bf16() const = 0;
  [[nodiscard]] virtual bool has_tf32() const = 0;
};

// The libraries behind CUDA devices: "" where the program is built without.
struct CudaVersions {
  std::string cuda, cudnn, nccl;
};
[[nodiscard]] CudaVersions cuda_versions();

// The memory limit is in force when this returns. Once a process, before the first tensor.
[[nodiscard]] std::unique_ptr<Device> open_device(const protocol::TrialDevice& device);
[[nodiscard]] std::unique_ptr<Device> open_cpu_device(const protocol::TrialDevice& device);
[[nodiscard]] std::unique_ptr<Device> open_cuda_device(const protocol::TrialDevice& device);

}  // namespace batchsweep::train
