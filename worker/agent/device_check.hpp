// SPDX-License-Identifier: Apache-2.0
// A look at GPUs just before a trial: is each still the device that was offered, and is nobody else
// on it? The driver is asked in a child `batchsweep probe`, because it can hang; nothing here
// waits.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "worker/agent/device_inventory.hpp"
#include "worker/agent/launcher.hpp"
#include "worker/protocol/messages.hpp"

namespace batchsweep::agent {

// Why a device may not be used now, for the record of the trial that was to run on it.
struct Unfit {
  results::Reason reason = results::Reason::kDeviceNotClean;
  std::string message;
  bool operator==(const Unfit&) const = default;
};

// Pure. `gpus`: what the driver shows now.
[[nodiscard]] std::optional<Unfit> why_unfit(const protocol::DeviceOffer& offer,
                                             const std::vector<FoundGpu>& gpus);

// The devices of the ranks that are to start here, in their order.
class DeviceCheck {
 public:
  // Throws IoError where the probe cannot be started.
  DeviceCheck(protocol::StartRanks start, std::vector<protocol::DeviceOffer> devices,
              LaunchRequest probe, Launcher& launcher, Instant now);

  // One answer a rank (absent: fit), once there are all. A device that is not clean is looked at
  // again for a while: what ran there before may just be leaving.
  [[nodiscard]] std::optional<std::vector<std::optional<Unfit>>> advance(Instant now);

  [[nodiscard]] const protocol::StartRanks& start() const { return start_; }
  // Where the ranks meet may be known before they are launched.
  void keep(const protocol::Meet& meet) { meet_ = meet; }
  [[nodiscard]] const std::optional<protocol::Meet>& kept() const { return meet_; }
  [[nodiscard]] std::vector<int> descriptors() const;
  [[nodiscard]] Instant next_deadline() const;

 private:
  void ask(Instant now);
  [[nodiscard]] std::vector<std::optional<Unfit>> judged(const std::string& answer) const;

  protocol::StartRanks start_;
  std::optional<protocol::Meet> meet_;
  std::vector<protocol::DeviceOffer> devices_;
  LaunchRequest probe_;
  Launcher* launcher_;
  std::unique_ptr<Process> process_;  // absent between two looks
  Instant asked_, again_until_;
};

}  // namespace batchsweep::agent
