// SPDX-License-Identifier: Apache-2.0
#include "orchestrator/cluster.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace batchsweep::orchestrator {

std::size_t Cluster::host_id(const results::HostRecord& record) {
  const auto [entry, fresh] = host_ids_.try_emplace(record.hostname, hosts_.size());
  if (fresh) hosts_.push_back(Host{.name = record.hostname, .record = record, .attempts = {}});
  return entry->second;
}

void Cluster::join(protocol::PeerId agent, const protocol::Register& registration, Instant now) {
  BATCHSWEEP_ASSERT(!agents_.contains(agent));
  agents_[agent] = Agent{.life = Life::kJoined,
                         .registration = registration,
                         .host = host_id(registration.host),
                         .devices = {},
                         .last_heard = now,
                         .last_beat = now};
}

Cluster::Claim Cluster::claim(protocol::PeerId id, Instant now) {
  Agent& agent = agents_.at(id);
  BATCHSWEEP_ASSERT(agent.life == Life::kJoined);
  agent.life = Life::kAlive;
  agent.last_heard = agent.last_beat = now;
  Claim claim;
  for (const protocol::DeviceOffer& offer : agent.registration.devices) {
    const auto [entry, fresh] = unit_ids_.try_emplace(offer.uuid, units_.size());
    if (fresh) units_.push_back(Unit{.uuid = offer.uuid, .owner = id, .holder = {}});
    const bool twice = std::ranges::any_of(claim.owned, [&](DeviceId other) {
      return devices_[other].unit == entry->second && devices_[other].offer.type == offer.type;
    });
    if (units_[entry->second].owner != id || twice) {
      claim.refused.push_back(offer.index);
      continue;
    }
    const auto device = static_cast<DeviceId>(devices_.size());
    devices_.push_back(Device{
        .id = device, .agent = id, .host = agent.host, .unit = entry->second, .offer = offer});
    claim.owned.push_back(device);
  }
  agent.devices = claim.owned;
  return claim;
}

void Cluster::give_up(protocol::PeerId agent) { agents_.at(agent).life = Life::kGivenUp; }

void Cluster::heard(protocol::PeerId agent, Instant now) { agents_.at(agent).last_heard = now; }

const Cluster::Agent* Cluster::find(protocol::PeerId agent) const {
  const auto found = agents_.find(agent);
  return found == agents_.end() ? nullptr : &found->second;
}

bool Cluster::alive(protocol::PeerId agent) const {
  const Agent* found = find(agent);
  return found != nullptr && found->life == Life::kAlive;
}

std::vector<DeviceId> Cluster::views_of(DeviceId id) const {
  std::vector<DeviceId> views;
  for (const DeviceId other : agents_.at(devices_[id].agent).devices) {
    if (devices_[other].unit == devices_[id].unit) views.push_back(other);
  }
  return views;
}

void Cluster::hold(DeviceId device, const protocol::AttemptKey& key) {
  Unit& unit = units_[devices_[device].unit];
  BATCHSWEEP_ASSERT(!unit.holder && usable_unit(unit));
  unit.holder = key;
}

void Cluster::release(DeviceId device) {
  Unit& unit = units_[devices_[device].unit];
  BATCHSWEEP_ASSERT(unit.holder.has_value());
  unit.holder.reset();
}

void Cluster::take_out_of_service(DeviceId device, const std::string& why) {
  units_[devices_[device].unit].out_of_service = why;
}

const std::optional<std::string>& Cluster::out_of_service(DeviceId device) const {
  return units_[devices_[device].unit].out_of_service;
}

const std::optional<protocol::AttemptKey>& Cluster::holder(DeviceId device) const {
  return units_[devices_[device].unit].holder;
}

bool Cluster::usable(DeviceId device) const { return usable_unit(units_[devices_[device].unit]); }

std::int64_t Cluster::units() const {
  return std::ranges::count_if(units_, [&](const Unit& unit) { return usable_unit(unit); });
}
std::int64_t Cluster::units_busy() const {
  return std::ranges::count_if(units_,
                               [&](const Unit& unit) { return unit.holder && usable_unit(unit); });
}

}  // namespace batchsweep::orchestrator
