// SPDX-License-Identifier: Apache-2.0
#include "orchestrator/supported.hpp"

#include <fmt/format.h>

#include <cstdlib>

#include "sweeps/gpu_catalogue.hpp"

namespace batchsweep::orchestrator {
namespace {

std::string capability_of(const protocol::DeviceOffer& device) {
  const sweeps::GpuType* card = sweeps::find_gpu(device.type);
  return card != nullptr ? std::string(card->compute_capability) : device.compute_capability;
}

}  // namespace

std::optional<std::string> why_unsupported(const std::string& precision, std::int64_t world_size,
                                           const protocol::DeviceOffer& device) {
  if (world_size > 1 && device.uuid.starts_with("MIG-"))
    return fmt::format("{}: slices of a card (MIG) cannot train together", device.type);
  if (precision != "tf32" && !precision.starts_with("bf16")) return std::nullopt;
  const std::string capability = capability_of(device);
  if (capability.empty()) {
    // A CPU computes bf16, in hardware or not; tf32 is a mode of GPUs.
    if (device.kind == sweeps::DeviceKind::kCpu && precision == "tf32")
      return fmt::format("{}: a CPU has no tf32", device.type);
    return std::nullopt;
  }
  if (std::strtod(capability.c_str(), nullptr) >= 8.0) return std::nullopt;
  return fmt::format("{}: {} needs compute capability 8.0, this card has {}", device.type,
                     precision, capability);
}

}  // namespace batchsweep::orchestrator
