// SPDX-License-Identifier: Apache-2.0
#include "orchestrator/device_pool.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

#include "base/check.hpp"

namespace batchsweep::orchestrator {

TypeId DevicePool::type_id(const std::string& name) {
  const auto [entry, fresh] = type_ids_.try_emplace(name, types_.size());
  if (fresh) {
    types_.emplace_back();
    types_.back().name = name;
  }
  return entry->second;
}

std::optional<std::size_t> DevicePool::host_id(const std::string& name) const {
  const auto found = host_ids_.find(name);
  return found == host_ids_.end() ? std::nullopt : std::optional(found->second);
}

// ---- devices come and go

void DevicePool::add(const DeviceView& device) {
  BATCHSWEEP_ASSERT(device.id == views_.size());
  const TypeId type = type_id(device.type);
  views_.push_back(View{.type = type, .host = device.host, .unit = device.unit});
  units_[device.unit].views.push_back(device.id);
  Host& host = hosts_[device.host];
  host.views.push_back(device.id);
  host.name = device.host_name;
  host_ids_.try_emplace(device.host_name, device.host);
  Type& entry = types_[type];
  ++entry.hosts[device.host].capacity;
  ++entry.capacity;
  entry.by_uuid.insert_or_assign(device.uuid, device.id);
  entry.reach.clear();
  refresh(device.id);
}

void DevicePool::remove(DeviceId device) {
  View& view = views_[device];
  if (view.gone) return;
  view.gone = true;
  Type& type = types_[view.type];
  --type.hosts[view.host].capacity;
  --type.capacity;
  type.reach.clear();
  refresh(device);
  changed.insert(view.type);  // what was kept may have to be kept elsewhere
}

void DevicePool::take(const std::vector<DeviceId>& devices, bool exclusive_host, double until_s) {
  for (const DeviceId id : devices) {
    Unit& unit = units_.at(views_[id].unit);
    BATCHSWEEP_ASSERT(!unit.busy);
    unit.busy = true;
    unit.until_s = until_s;
    for (const DeviceId view : unit.views) refresh(view);
    Host& host = hosts_.at(views_[id].host);
    ++host.busy;
    if (!exclusive_host || host.exclusive) continue;
    host.exclusive = true;
    for (const DeviceId view : host.views) refresh(view);
  }
}

void DevicePool::release(DeviceId device) {
  const View& released = views_[device];
  Unit& unit = units_.at(released.unit);
  BATCHSWEEP_ASSERT(unit.busy);
  unit.busy = false;
  for (const DeviceId view : unit.views) refresh(view);
  Host& host = hosts_.at(released.host);
  if (--host.busy > 0) return;
  host.exclusive = false;
  for (const DeviceId view : host.views) {
    refresh(view);
    // Also where no device became free by it: an idle host may be what an exclusive trial waits
    // for.
    changed.insert(views_[view].type);
  }
}

void DevicePool::keep(const Keep& keep) {
  for (const DeviceId id : keep.devices) {
    Unit& unit = units_.at(views_[id].unit);
    unit.kept_until_s = keep.ready_s;
    for (const DeviceId view : unit.views) refresh(view);
  }
}

void DevicePool::unkeep(const Keep& keep) {
  for (const DeviceId id : keep.devices) {
    Unit& unit = units_.at(views_[id].unit);
    unit.kept_until_s.reset();
    for (const DeviceId view : unit.views) refresh(view);
  }
}

DevicePool::Where DevicePool::where_now(const View& view) const {
  const Unit& unit = units_.at(view.unit);
  if (view.gone || unit.busy || hosts_.at(view.host).exclusive) return Where::kOut;
  return unit.kept_until_s ? Where::kKept : Where::kOpen;
}

// Puts the view where its state now says that it belongs.
void DevicePool::refresh(DeviceId id) {
  View& view = views_[id];
  const Where wanted = where_now(view);
  if (wanted == view.where) return;
  if (view.where == Where::kOut) changed.insert(view.type);
  put(id, view.where, wanted);
  view.where = wanted;
}

void DevicePool::put(DeviceId id, Where from, Where to) {
  const View& view = views_[id];
  Type& type = types_[view.type];
  OnHost& on_host = type.hosts[view.host];
  const auto before = static_cast<std::int64_t>(on_host.open.size());
  for (const auto& [list, where] :
       {std::pair(&on_host.open, Where::kOpen), std::pair(&on_host.kept, Where::kKept)}) {
    const auto place = std::ranges::lower_bound(*list, id);
    if (from == where) list->erase(place);
    if (to == where) list->insert(place, id);
  }
  type.kept += (to == Where::kKept) - (from == Where::kKept);
  if (on_host.kept.empty()) {
    type.with_kept.erase(view.host);
  } else {
    type.with_kept.insert(view.host);
  }
  const auto after = static_cast<std::int64_t>(on_host.open.size());
  if (after == before) return;
  if (before > 0) type.by_open.erase({-before, view.host});
  if (after > 0) type.by_open.insert({-after, view.host});
  type.open += after - before;
}

// ---- what is there

std::optional<std::size_t> DevicePool::hosts_needed(const Needs& needs) {
  Type& type = types_[type_id(needs.gpu)];
  if (!needs.pinned_device.empty()) {
    const auto found = type.by_uuid.find(needs.pinned_device);
    const bool there = found != type.by_uuid.end() && !views_[found->second].gone;
    return there && needs.world_size == 1 ? std::optional<std::size_t>(1) : std::nullopt;
  }
  if (!needs.pinned_host.empty()) {
    const bool enough = capacity_on(type_id(needs.gpu), needs.pinned_host) >= needs.world_size;
    return enough ? std::optional<std::size_t>(1) : std::nullopt;
  }
  if (needs.num_nodes) {
    Offers offers;
    for (const auto& [host, there] : type.hosts) offers.emplace_back(there.capacity, host);
    std::ranges::sort(offers, std::greater<>());
    const auto hosts = static_cast<std::size_t>(*needs.num_nodes);
    return share(offers, needs, hosts) ? std::optional(hosts) : std::nullopt;
  }
  if (type.reach.empty()) {
    for (const auto& [host, there] : type.hosts) type.reach.push_back(there.capacity);
    std::ranges::sort(type.reach, std::greater<>());
    std::partial_sum(type.reach.begin(), type.reach.end(), type.reach.begin());
  }
  const auto found = std::ranges::lower_bound(type.reach, needs.world_size);
  if (found == type.reach.end()) return std::nullopt;
  return static_cast<std::size_t>(found - type.reach.begin()) + 1;
}

bool DevicePool::could_hold(const Needs& needs) {
  const std::optional<std::size_t> hosts = hosts_needed(needs);
  return hosts && (*hosts == 1 || over_hosts_);
}

std::int64_t DevicePool::most_open_together(TypeId type) const {
  const auto& by_open = types_[type].by_open;
  return by_open.empty() ? 0 : -by_open.begin()->first;
}

std::int64_t DevicePool::free_on(TypeId type, const std::string& host) const {
  const std::optional<std::size_t> id = host_id(host);
  const auto found = id ? types_[type].hosts.find(*id) : types_[type].hosts.end();
  if (found == types_[type].hosts.end()) return 0;
  return static_cast<std::int64_t>(found->second.open.size() + found->second.kept.size());
}

std::int64_t DevicePool::capacity_on(TypeId type, const std::string& host) const {
  const std::optional<std::size_t> id = host_id(host);
  const auto found = id ? types_[type].hosts.find(*id) : types_[type].hosts.end();
  return found == types_[type].hosts.end() ? 0 : found->second.capacity;
}

std::string DevicePool::hosts_of(const std::vector<DeviceId>& devices) const {
  std::vector<std::size_t> hosts;
  std::string names;
  for (const DeviceId id : devices) {
    const std::size_t host = views_[id].host;
    if (std::ranges::find(hosts, host) != hosts.end()) continue;
    hosts.push_back(host);
    names += (names.empty() ? "" : ", ") + hosts_.at(host).name;
  }
  return names;
}

std::size_t DevicePool::how_many_free(const std::vector<DeviceId>& devices) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(devices, [&](DeviceId id) { return is_free(id); }));
}

}  // namespace batchsweep::orchestrator
