// SPDX-License-Identifier: Apache-2.0
#include "orchestrator/scheduler.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <set>

#include "base/check.hpp"
#include "orchestrator/waiting_queue.hpp"

namespace batchsweep::orchestrator {
namespace {

struct Kind {
  Needs needs;
  std::size_t type = 0;
  WaitingQueue queue;
};

struct View {
  std::size_t type = 0, host = 0, unit = 0;
  bool gone = false, pooled = false;
};

struct Unit {
  std::vector<DeviceId> views;
  bool busy = false;
};

struct Host {
  std::vector<DeviceId> views;
  int busy = 0;  // units in use
  bool exclusive = false;
};

// Devices of one type, by host.
struct Type {
  std::string name;
  std::vector<KindId> kinds;
  std::map<std::size_t, std::vector<DeviceId>> free;  // host -> in ascending order
  std::map<std::size_t, std::int64_t> capacity;       // host -> free or not
  std::vector<std::int64_t>
      reach;  // [i]: how many devices the i + 1 best hosts have; empty: to be counted anew
  std::set<std::pair<std::int64_t, std::size_t>>
      by_free;  // (-free, host): most free first; hosts with none are left out
  std::int64_t free_total = 0;
};

void count_free(Type& type, std::size_t host, std::int64_t before, std::int64_t after) {
  if (before > 0) type.by_free.erase({-before, host});
  if (after > 0) type.by_free.insert({-after, host});
  type.free_total += after - before;
}

// The fewest hosts whose devices, all idle, hold so many ranks; nullopt if all of them do not.
std::optional<std::size_t> hosts_needed(Type& type, std::int64_t world_size) {
  if (type.reach.empty()) {
    for (const auto& [host, count] : type.capacity) type.reach.push_back(count);
    std::ranges::sort(type.reach, std::greater<>());
    std::partial_sum(type.reach.begin(), type.reach.end(), type.reach.begin());
  }
  const auto found = std::ranges::lower_bound(type.reach, world_size);
  if (found == type.reach.end()) return std::nullopt;
  return static_cast<std::size_t>(found - type.reach.begin()) + 1;
}

}  // namespace

struct Scheduler::State {
  SchedulerOptions options;
  std::vector<Kind> kinds;
  std::vector<Type> types;
  std::map<std::string, std::size_t> type_ids;
  std::vector<View> views;
  std::map<std::size_t, Unit> units;
  std::map<std::size_t, Host> hosts;
  std::set<std::size_t> changed_types;  // where something may have become possible

  std::size_t type_id(const std::string& name);
  bool available(DeviceId id) const;
  void refresh(DeviceId id);
  void refresh_host(const Host& host);
  std::optional<std::vector<DeviceId>> fit(Type& type, const Needs& needs);
  std::optional<std::vector<DeviceId>> fit_over_hosts(const Type& type, const Needs& needs,
                                                      std::size_t most_hosts) const;
  void take(const std::vector<DeviceId>& devices, bool exclusive);
  std::optional<Placement> place_on(std::size_t type);
  std::uint64_t key_of(const WaitingTrial& trial) const;
  std::string why(const Kind& kind);
};

std::size_t Scheduler::State::type_id(const std::string& name) {
  const auto [entry, fresh] = type_ids.try_emplace(name, types.size());
  if (fresh)
    types.push_back(
        Type{.name = name, .kinds = {}, .free = {}, .capacity = {}, .reach = {}, .by_free = {}});
  return entry->second;
}

bool Scheduler::State::available(DeviceId id) const {
  const View& view = views[id];
  return !view.gone && !units.at(view.unit).busy && !hosts.at(view.host).exclusive;
}

// Puts the view into the pool of free devices or takes it out, as its state now says.
void Scheduler::State::refresh(DeviceId id) {
  View& view = views[id];
  const bool wanted = available(id);
  if (wanted == view.pooled) return;
  Type& type = types[view.type];
  std::vector<DeviceId>& pool = type.free[view.host];
  const auto before = static_cast<std::int64_t>(pool.size());
  const auto place = std::ranges::lower_bound(pool, id);
  if (wanted) {
    pool.insert(place, id);
    changed_types.insert(view.type);
  } else {
    pool.erase(place);
  }
  count_free(type, view.host, before, static_cast<std::int64_t>(pool.size()));
  view.pooled = wanted;
}

void Scheduler::State::refresh_host(const Host& host) {
  for (const DeviceId id : host.views) refresh(id);
}

std::optional<std::vector<DeviceId>> Scheduler::State::fit(Type& type, const Needs& needs) {
  const std::optional<std::size_t> wanted_hosts = hosts_needed(type, needs.world_size);
  if (!wanted_hosts) return std::nullopt;
  if (*wanted_hosts > 1)
    return options.over_hosts ? fit_over_hosts(type, needs, *wanted_hosts) : std::nullopt;
  for (const auto& [negative_free, host] : type.by_free) {
    if (-negative_free < needs.world_size) return std::nullopt;
    if (needs.exclusive_host && hosts.at(host).busy > 0) continue;
    const std::vector<DeviceId>& pool = type.free.at(host);
    return std::vector<DeviceId>(pool.begin(), pool.begin() + needs.world_size);
  }
  return std::nullopt;
}

std::optional<std::vector<DeviceId>> Scheduler::State::fit_over_hosts(
    const Type& type, const Needs& needs, std::size_t most_hosts) const {
  const auto wanted = static_cast<std::size_t>(needs.world_size);
  std::vector<DeviceId> devices;
  std::size_t used = 0;
  for (const auto& [negative_free, host] : type.by_free) {
    if (needs.exclusive_host && hosts.at(host).busy > 0) continue;
    for (const DeviceId id : type.free.at(host)) {
      if (devices.size() < wanted) devices.push_back(id);
    }
    if (++used == most_hosts || devices.size() == wanted) break;
  }
  if (devices.size() < wanted) return std::nullopt;
  return devices;
}

void Scheduler::State::take(const std::vector<DeviceId>& devices, bool exclusive) {
  for (const DeviceId id : devices) {
    Unit& unit = units.at(views[id].unit);
    BATCHSWEEP_ASSERT(!unit.busy);
    unit.busy = true;
    for (const DeviceId view : unit.views) refresh(view);
    Host& host = hosts.at(views[id].host);
    ++host.busy;
    if (!exclusive || host.exclusive) continue;
    host.exclusive = true;
    refresh_host(host);
  }
}

std::optional<Placement> Scheduler::State::place_on(std::size_t type_index) {
  Type& type = types[type_index];
  if (type.free_total == 0) return std::nullopt;
  std::vector<KindId> candidates;
  for (const KindId id : type.kinds) {
    if (!kinds[id].queue.empty()) candidates.push_back(id);
  }
  std::ranges::sort(candidates, {}, [&](KindId id) { return kinds[id].queue.front(); });
  for (const KindId id : candidates) {
    Kind& kind = kinds[id];
    std::optional<std::vector<DeviceId>> devices = fit(type, kind.needs);
    if (!devices) continue;
    take(*devices, kind.needs.exclusive_host);
    return Placement{.slot = kind.queue.pop(), .devices = *std::move(devices)};
  }
  return std::nullopt;
}

// What is smaller starts first: urgency, repeat, (auto) ranks, then the grid's order or a shuffled
// one.
std::uint64_t Scheduler::State::key_of(const WaitingTrial& trial) const {
  constexpr std::int64_t kMost = (1 << 15) - 1;
  std::uint64_t position = trial.slot;
  std::int64_t ranks = 0;
  switch (options.order) {
    case sweeps::Order::kAuto:
      ranks = kMost - std::min(kMost, kinds[trial.kind].needs.world_size);
      break;
    case sweeps::Order::kGrid:
      break;
    case sweeps::Order::kShuffled:
      position = shuffled(trial.slot, options.seed);
      break;
  }
  const auto repeat = static_cast<std::uint64_t>(std::min(kMost, trial.repeat));
  return static_cast<std::uint64_t>(trial.urgency) << 62 | repeat << 47 |
         static_cast<std::uint64_t>(ranks) << 32 | position;
}

std::string Scheduler::State::why(const Kind& kind) {
  Type& type = types[kind.type];
  const std::int64_t world_size = kind.needs.world_size;
  const std::optional<std::size_t> needed = hosts_needed(type, world_size);
  if (!needed)
    return fmt::format("needs {} x {}, but there are not so many", world_size, type.name);
  if (*needed > 1 && !options.over_hosts)
    return fmt::format("no host has {} x {}", world_size, type.name);
  if (type.free_total == 0) return fmt::format("all devices of type {} are in use", type.name);
  if (kind.needs.exclusive_host)
    return fmt::format("waits for a host with {} x {} that nothing else runs on", world_size,
                       type.name);
  if (*needed > 1)
    return fmt::format("needs {} x {} on {} hosts, {} are free", world_size, type.name, *needed,
                       type.free_total);
  return fmt::format("needs {} x {} on one host, at most {} are free together", world_size,
                     type.name, -type.by_free.begin()->first);
}

Scheduler::Scheduler(const SchedulerOptions& options) : state_(std::make_unique<State>()) {
  state_->options = options;
}
Scheduler::~Scheduler() = default;

KindId Scheduler::add_kind(const Needs& needs) {
  const auto id = static_cast<KindId>(state_->kinds.size());
  const std::size_t type = state_->type_id(needs.gpu);
  state_->kinds.push_back(Kind{.needs = needs, .type = type, .queue = {}});
  state_->types[type].kinds.push_back(id);
  return id;
}

void Scheduler::add(const WaitingTrial& trial) {
  Kind& kind = state_->kinds[trial.kind];
  kind.queue.add({state_->key_of(trial), trial.slot});
  state_->changed_types.insert(kind.type);
}

void Scheduler::add_device(const DeviceView& device) {
  BATCHSWEEP_ASSERT(device.id == state_->views.size());
  const std::size_t type = state_->type_id(device.type);
  state_->views.push_back(View{.type = type, .host = device.host, .unit = device.unit});
  state_->units[device.unit].views.push_back(device.id);
  state_->hosts[device.host].views.push_back(device.id);
  ++state_->types[type].capacity[device.host];
  state_->types[type].reach.clear();
  state_->refresh(device.id);
}

void Scheduler::release(DeviceId device) {
  const View& released = state_->views[device];
  Unit& unit = state_->units.at(released.unit);
  BATCHSWEEP_ASSERT(unit.busy);
  unit.busy = false;
  for (const DeviceId view : unit.views) state_->refresh(view);
  Host& host = state_->hosts.at(released.host);
  if (--host.busy > 0) return;
  host.exclusive = false;
  state_->refresh_host(host);
  // Also where no device became free by it: an idle host may be what an exclusive trial waits for.
  for (const DeviceId view : host.views) state_->changed_types.insert(state_->views[view].type);
}

void Scheduler::remove_device(DeviceId device) {
  View& view = state_->views[device];
  if (view.gone) return;
  view.gone = true;
  Type& type = state_->types[view.type];
  --type.capacity[view.host];
  type.reach.clear();
  state_->refresh(device);
}

std::optional<Placement> Scheduler::place() {
  while (!state_->changed_types.empty()) {
    const std::size_t type = *state_->changed_types.begin();
    if (std::optional<Placement> placement = state_->place_on(type)) return placement;
    state_->changed_types.erase(type);
  }
  return std::nullopt;
}

bool Scheduler::could_hold(KindId id) const {
  const Kind& kind = state_->kinds[id];
  const std::optional<std::size_t> hosts =
      hosts_needed(state_->types[kind.type], kind.needs.world_size);
  return hosts && (*hosts == 1 || state_->options.over_hosts);
}

std::size_t Scheduler::waiting() const {
  std::size_t count = 0;
  for (const Kind& kind : state_->kinds) count += kind.queue.size();
  return count;
}
std::size_t Scheduler::waiting(KindId kind) const { return state_->kinds[kind].queue.size(); }

bool Scheduler::is_free(DeviceId device) const { return state_->views[device].pooled; }

std::vector<WaitingReason> Scheduler::explain(std::size_t most) const {
  std::vector<std::pair<QueuedTrial, const Kind*>> first;
  for (const Kind& kind : state_->kinds) {
    for (const QueuedTrial& trial : kind.queue.first(most)) first.emplace_back(trial, &kind);
  }
  std::ranges::sort(first, {}, [](const auto& entry) { return entry.first; });
  first.resize(std::min(first.size(), most));
  std::vector<WaitingReason> reasons;
  reasons.reserve(first.size());
  for (const auto& [trial, kind] : first) reasons.push_back({trial.slot, state_->why(*kind)});
  return reasons;
}

}  // namespace batchsweep::orchestrator
