// SPDX-License-Identifier: Apache-2.0
#include "orchestrator/scheduler.hpp"

#include <algorithm>

#include "orchestrator/scheduler_state.hpp"

namespace batchsweep::orchestrator {

Scheduler::Scheduler(const SchedulerOptions& options) : state_(std::make_unique<State>(options)) {}
Scheduler::~Scheduler() = default;

ShapeId Scheduler::shape_of(const Needs& needs) {
  const auto [entry, fresh] =
      state_->shape_ids.try_emplace(needs, static_cast<ShapeId>(state_->shapes.size()));
  if (!fresh) return entry->second;
  const TypeId type = state_->pool.type_id(needs.gpu);
  state_->shapes.push_back({.needs = needs, .type = type});
  if (state_->of_type.size() <= type) state_->of_type.resize(type + 1);
  state_->of_type[type].push_back(entry->second);
  return state_->order.add_shape(type, needs.world_size);
}

void Scheduler::add(const WaitingTrial& trial) {
  state_->order.add(trial);
  state_->pool.changed.insert(state_->shapes[trial.shape].type);
  ++state_->waiting;
}

void Scheduler::add_device(const DeviceView& device) { state_->pool.add(device); }

void Scheduler::release(DeviceId device) { state_->pool.release(device); }

void Scheduler::remove_device(DeviceId device) {
  for (TypeId type = 0; type < state_->kept.size(); ++type) {
    const auto& kept = state_->kept[type];
    if (kept && std::ranges::count(kept->keep.devices, device) > 0) state_->forget_kept(type);
  }
  state_->pool.remove(device);
}

void Scheduler::learn(FamilyId family, double work, double duration_s) {
  state_->order.learn(family, work, duration_s);
}

std::optional<double> Scheduler::expected_s(FamilyId family, double work) const {
  return state_->order.times().of(family, work);
}

std::optional<Placement> Scheduler::place(double now_s) {
  std::set<TypeId>& changed = state_->pool.changed;
  while (!changed.empty()) {
    const TypeId type = *changed.begin();
    if (std::optional<Placement> placement = state_->place_on(type, now_s)) return placement;
    changed.erase(type);
  }
  return std::nullopt;
}

std::optional<Placement> Scheduler::State::place_on(TypeId type, double now_s) {
  if (type >= of_type.size() || pool.free(type) == 0) return std::nullopt;
  if (kept.size() <= type) kept.resize(type + 1);
  // Whoever stands before the one that devices are kept for may have them.
  if (kept[type]) pool.unkeep(kept[type]->keep);
  bool keeping = false;
  for (Candidate& candidate : candidates(type, now_s)) {
    const Shape& shape = shapes[candidate.shape];
    if (std::optional<std::vector<DeviceId>> devices = fit(candidate, now_s)) {
      if (kept[type] && kept[type]->shape == candidate.shape) forget_kept(type);
      order.take(candidate.shape, candidate.next);
      pool.take(*devices, shape.needs.exclusive_host, now_s + at_most_s(candidate));
      --waiting;
      return Placement{.slot = candidate.next.slot, .devices = *std::move(devices)};
    }
    if (keeping || !shape.needs_several() || !pool.could_hold(shape.needs)) continue;
    keep_for(candidate.shape, now_s);
    keeping = true;
  }
  if (!keeping) kept[type].reset();
  return std::nullopt;
}

// The first of each shape, in the order in which they may start.
std::vector<Scheduler::State::Candidate> Scheduler::State::candidates(TypeId type, double now_s) {
  std::vector<Candidate> list;
  for (const ShapeId id : of_type[type]) {
    if (const std::optional<TrialOrder::Next> next = order.front(id, now_s))
      list.push_back({id, *next});
  }
  const TrialOrder::Left left = order.left(type);
  const bool by_length = options.order == sweeps::Order::kAuto && left.unknown == 0;
  for (Candidate& candidate : list) {
    const std::optional<double>& expected_s = candidate.next.expected_s;
    candidate.next.key.can_wait =
        !by_length || !expected_s ||
        *expected_s * static_cast<double>(pool.capacity(type)) < left.seconds;
  }
  std::ranges::sort(list, {}, [](const Candidate& candidate) { return candidate.next.key; });
  return list;
}

// Where the candidate fits now; another of its shape takes its place where only that one will have
// ended by the time that the devices are kept for.
std::optional<std::vector<DeviceId>> Scheduler::State::fit(Candidate& candidate, double now_s) {
  const Shape& shape = shapes[candidate.shape];
  if (pool.free(shape.type) < shape.needs.world_size) return std::nullopt;
  std::optional<std::vector<DeviceId>> devices = pool.fit(shape.needs);
  if (devices || pool.kept(shape.type) == 0 || !pool.could_hold(shape.needs)) return devices;
  devices = pool.fit_meanwhile(shape.needs, now_s + at_most_s(candidate));
  if (devices || !kept[shape.type]) return devices;
  const double until_s = kept[shape.type]->keep.ready_s;
  const auto shorter = order.within(candidate.shape, until_s - now_s, now_s);
  if (!shorter) return std::nullopt;
  devices = pool.fit_meanwhile(shape.needs, now_s + shorter->expected_s.value_or(options.limit_s));
  if (devices) candidate.next = *shorter;
  return devices;
}

// What is kept for it already stays so, unless somebody who stands before it has taken of that.
void Scheduler::State::keep_for(ShapeId id, double now_s) {
  std::optional<Kept>& mine = kept[shapes[id].type];
  if (mine && mine->shape == id) {
    const double ready_s = pool.ready_s(mine->keep.devices, now_s);
    if (ready_s <= std::max(mine->keep.ready_s, now_s)) {
      mine->keep.ready_s = ready_s;
      pool.keep(mine->keep);
      return;
    }
  }
  mine.reset();
  std::optional<DevicePool::Keep> soonest = pool.soonest(shapes[id].needs, now_s);
  if (!soonest) return;
  mine = Kept{.shape = id, .keep = *std::move(soonest)};
  pool.keep(mine->keep);
}

void Scheduler::State::forget_kept(TypeId type) {
  if (kept[type]) pool.unkeep(kept[type]->keep);
  kept[type].reset();
}

bool Scheduler::could_hold(ShapeId shape) const {
  return state_->pool.could_hold(state_->shapes[shape].needs);
}

std::size_t Scheduler::waiting() const { return state_->waiting; }
std::size_t Scheduler::waiting(ShapeId shape) const { return state_->order.waiting(shape); }

std::optional<double> Scheduler::device_seconds_left(const std::string& type) const {
  const TrialOrder::Left left = state_->order.left(state_->pool.type_id(type));
  if (left.unknown == 0) return left.seconds;
  const std::optional<double> mean = mean_s();
  if (!mean) return std::nullopt;
  return left.seconds + *mean * static_cast<double>(left.unknown);
}

std::optional<double> Scheduler::mean_s() const { return state_->order.times().mean(); }

bool Scheduler::is_free(DeviceId device) const { return state_->pool.is_free(device); }

}  // namespace batchsweep::orchestrator
