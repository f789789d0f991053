// SPDX-License-Identifier: Apache-2.0
#include "worker/agent/device_check.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.hpp"
#include "base/units.hpp"

namespace batchsweep::agent {
namespace {

using protocol::DeviceOffer;
using results::Reason;

constexpr Duration kProbeLimit = std::chrono::seconds(10);
constexpr Duration kLeavingTakes = std::chrono::seconds(5);
constexpr Duration kBetweenLooks = std::chrono::milliseconds(500);

std::string printable(std::uint64_t bytes) { return format_bytes(static_cast<double>(bytes)); }

Unfit not_there(const DeviceOffer& offer, const std::vector<FoundGpu>& gpus) {
  const bool split = std::ranges::any_of(gpus, [&](const FoundGpu& gpu) {
    return gpu.uuid.starts_with("MIG-") && gpu.pci_bus_id == offer.pci_bus_id;
  });
  return {Reason::kDeviceAbsent, fmt::format("{} ({}) is {}", offer.uuid, offer.driver_name,
                                             split ? "split into MIG slices now"
                                                   : "not there any more: look at nvidia-smi")};
}

// In the order of the ranks: no device of an earlier one.
bool is_used_before(const std::vector<DeviceOffer>& devices, std::size_t rank) {
  return std::any_of(devices.begin(), devices.begin() + static_cast<std::ptrdiff_t>(rank),
                     [&](const DeviceOffer& other) { return other.uuid == devices[rank].uuid; });
}

}  // namespace

std::optional<Unfit> why_unfit(const DeviceOffer& offer, const std::vector<FoundGpu>& gpus) {
  const auto gpu = std::ranges::find(gpus, offer.uuid, &FoundGpu::uuid);
  if (gpu == gpus.end()) return not_there(offer, gpus);
  if (gpu->driver_name != offer.driver_name || gpu->memory_bytes != offer.memory_bytes) {
    return Unfit{Reason::kDeviceAbsent,
                 fmt::format("wrong device: {} was offered as {} with {}, and is {} with {} now",
                             offer.uuid, offer.driver_name, printable(offer.memory_bytes),
                             gpu->driver_name, printable(gpu->memory_bytes))};
  }
  if (gpu->prohibited) {
    return Unfit{
        Reason::kDeviceNotClean,
        fmt::format("{} takes no processes: its compute mode is Prohibited (nvidia-smi -c 0)",
                    offer.uuid)};
  }
  if (!gpu->processes.empty()) {
    return Unfit{Reason::kDeviceNotClean,
                 fmt::format("{} is in use by {}", offer.uuid, fmt::join(gpu->processes, ", "))};
  }
  // A desktop draws on its card as well: what the reserve covers is nobody's loss.
  const std::uint64_t tolerated = std::max(offer.reserve_bytes, sweeps::kCudaReserveBytes);
  if (gpu->used_bytes.value_or(0) > tolerated) {
    return Unfit{
        Reason::kDeviceNotClean,
        fmt::format("{} of {} are in use on {} by nobody that the driver names (a reserve "
                    "above that would allow it)",
                    printable(*gpu->used_bytes), printable(gpu->memory_bytes), offer.uuid)};
  }
  return std::nullopt;
}

DeviceCheck::DeviceCheck(protocol::StartRanks start, std::vector<DeviceOffer> devices,
                         LaunchRequest probe, Launcher& launcher, Instant now)
    : start_(std::move(start)),
      devices_(std::move(devices)),
      probe_(std::move(probe)),
      launcher_(&launcher),
      again_until_(now + kLeavingTakes) {
  ask(now);
}

void DeviceCheck::ask(Instant now) {
  asked_ = now;
  process_ = launcher_->launch(probe_);
}

std::optional<std::vector<std::optional<Unfit>>> DeviceCheck::advance(Instant now) {
  if (!process_) {
    if (now - asked_ >= kBetweenLooks) ask(now);
    return std::nullopt;
  }
  (void)process_->take_event_lines();
  const bool ended = process_->poll_exit().has_value();
  if (!ended && now - asked_ < kProbeLimit) return std::nullopt;
  (void)process_->take_event_lines();  // what it said last
  std::vector<std::optional<Unfit>> answers = judged(ended ? process_->output() : "");
  (void)process_->kill_tree();
  process_.reset();
  const bool may_be_leaving = std::ranges::any_of(answers, [](const std::optional<Unfit>& unfit) {
    return unfit && unfit->reason == Reason::kDeviceNotClean;
  });
  if (ended && may_be_leaving && now < again_until_) return std::nullopt;
  return answers;
}

std::vector<std::optional<Unfit>> DeviceCheck::judged(const std::string& answer) const {
  std::vector<std::optional<Unfit>> answers(devices_.size());
  const std::optional<std::vector<FoundGpu>> gpus = gpus_of_probe(answer);
  for (std::size_t rank = 0; rank < devices_.size(); ++rank) {
    const DeviceOffer& device = devices_[rank];
    if (device.kind != sweeps::DeviceKind::kCuda) continue;
    if (!gpus) {
      answers[rank] =
          Unfit{Reason::kDeviceNotClean,
                answer.empty() ? "the NVIDIA driver did not answer within 10 s: look at "
                                 "nvidia-smi and at the kernel's log for a sick card"
                               : "asking the NVIDIA driver failed: " + answer.substr(0, 200)};
    } else if (is_used_before(devices_, rank)) {
      answers[rank] = Unfit{Reason::kDeviceNotClean,
                            fmt::format("two ranks of this trial are to run on {}", device.uuid)};
    } else {
      answers[rank] = why_unfit(device, *gpus);
    }
  }
  return answers;
}

std::vector<int> DeviceCheck::descriptors() const {
  return process_ ? process_->descriptors() : std::vector<int>{};
}

Instant DeviceCheck::next_deadline() const {
  return asked_ + (process_ ? kProbeLimit : kBetweenLooks);
}

}  // namespace batchsweep::agent
