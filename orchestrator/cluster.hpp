// SPDX-License-Identifier: Apache-2.0
// Agents, hosts and devices as they registered: who lives, which rank owns which physical device,
// which attempt holds it. Knows no trials and decides nothing about them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "orchestrator/scheduler.hpp"
#include "worker/protocol/messages.hpp"

namespace batchsweep::orchestrator {

// A view on a physical device: one offer of one agent.
struct Device {
  DeviceId id = 0;
  protocol::PeerId agent = 0;
  std::size_t host = 0, unit = 0;
  protocol::DeviceOffer offer;
};

struct Host {
  std::string name;
  results::HostRecord record;
  std::vector<protocol::AttemptKey> attempts;  // that run here now
};

class Cluster {
 public:
  enum class Life { kJoined, kAlive, kGivenUp };  // kJoined: registered, not yet welcomed
  struct Agent {
    Life life = Life::kJoined;
    protocol::Register registration;
    std::size_t host = 0;
    std::vector<DeviceId> devices;  // that it owns
    Instant last_heard{}, last_beat{};
  };
  struct Claim {
    std::vector<int> refused;  // indices of offers that another rank owns, or that it made twice
    std::vector<DeviceId> owned;
  };

  void join(protocol::PeerId agent, const protocol::Register& registration, Instant now);
  // The agent becomes alive and owns what nobody owns yet. Called in rank order: the lowest rank
  // that sees a device has it.
  Claim claim(protocol::PeerId agent, Instant now);
  // Its devices are gone; what they hold stays held until it is released.
  void give_up(protocol::PeerId agent);
  void heard(protocol::PeerId agent, Instant now);

  [[nodiscard]] const std::map<protocol::PeerId, Agent>& agents() const { return agents_; }
  [[nodiscard]] std::map<protocol::PeerId, Agent>& agents() { return agents_; }
  [[nodiscard]] const Agent* find(protocol::PeerId agent) const;
  [[nodiscard]] bool alive(protocol::PeerId agent) const;
  [[nodiscard]] const std::vector<Device>& devices() const { return devices_; }
  [[nodiscard]] const Device& device(DeviceId id) const { return devices_[id]; }
  // All views on the same physical device, this one among them.
  [[nodiscard]] std::vector<DeviceId> views_of(DeviceId id) const;
  [[nodiscard]] const std::vector<Host>& hosts() const { return hosts_; }
  [[nodiscard]] Host& host(std::size_t id) { return hosts_[id]; }

  void hold(DeviceId device, const protocol::AttemptKey& key);
  void release(DeviceId device);
  // Never free again: it is not clean, or crashes whatever runs on it.
  void take_out_of_service(DeviceId device, const std::string& why);
  [[nodiscard]] const std::optional<std::string>& out_of_service(DeviceId device) const;
  [[nodiscard]] const std::optional<protocol::AttemptKey>& holder(DeviceId device) const;
  // Its agent lives and it is not out of service.
  [[nodiscard]] bool usable(DeviceId device) const;

  // Physical devices: usable ones, and those of them that are held.
  [[nodiscard]] std::int64_t units() const;
  [[nodiscard]] std::int64_t units_busy() const;

 private:
  struct Unit {
    std::string uuid;
    protocol::PeerId owner = 0;
    std::optional<protocol::AttemptKey> holder;
    std::optional<std::string> out_of_service;  // why
  };
  [[nodiscard]] std::size_t host_id(const results::HostRecord& record);
  [[nodiscard]] bool usable_unit(const Unit& unit) const {
    return !unit.out_of_service && alive(unit.owner);
  }

  std::map<protocol::PeerId, Agent> agents_;
  std::vector<Host> hosts_;
  std::map<std::string, std::size_t> host_ids_;  // by name
  std::vector<Unit> units_;
  // By uuid alone: two containers on one machine are two hosts that see the same GPUs.
  std::map<std::string, std::size_t> unit_ids_;
  std::vector<Device> devices_;
};

}  // namespace batchsweep::orchestrator
