// SPDX-License-Identifier: Apache-2.0
#include "worker/train/device.hpp"

#include <algorithm>

namespace batchsweep::train {
namespace {

results::Number higher(const results::Number& a, const results::Number& b) {
  if (!a || !b) return a ? a : b;
  return std::max(*a, *b);
}

}  // namespace

PeakMemory highest(const PeakMemory& a, const PeakMemory& b) {
  return {.allocated_bytes = higher(a.allocated_bytes, b.allocated_bytes),
          .reserved_bytes = higher(a.reserved_bytes, b.reserved_bytes),
          .device_used_bytes = higher(a.device_used_bytes, b.device_used_bytes)};
}

std::unique_ptr<Device> open_device(const protocol::TrialDevice& device) {
  switch (device.kind) {
    case sweeps::DeviceKind::kCpu:
      return open_cpu_device(device);
    case sweeps::DeviceKind::kCuda:
      return open_cuda_device(device);
  }
  return nullptr;
}

}  // namespace batchsweep::train
