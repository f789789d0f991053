// SPDX-License-Identifier: Apache-2.0
#include "orchestrator/trial_order.hpp"

#include <algorithm>
#include <limits>

#include "base/check.hpp"

namespace batchsweep::orchestrator {
namespace {

constexpr std::int64_t kMostRepeats = 0xffff;

std::uint32_t level_of(Urgency urgency, std::int64_t repeat) {
  return static_cast<std::uint32_t>(urgency) << 16 |
         static_cast<std::uint32_t>(std::min(repeat, kMostRepeats));
}

bool is_scout(const QueuedTrial& trial) {
  return trial.level >> 16 == static_cast<std::uint32_t>(Urgency::kScout);
}

}  // namespace

ShapeId TrialOrder::add_shape(std::size_t type, std::int64_t ranks) {
  Shape shape;
  shape.type = type;
  shape.ranks = ranks;
  shapes_.push_back(std::move(shape));
  if (left_.size() <= type) left_.resize(type + 1);
  if (shapes_of_.size() <= type) shapes_of_.resize(type + 1);
  shapes_of_[type].push_back(static_cast<ShapeId>(shapes_.size() - 1));
  return shapes_of_[type].back();
}

QueuedTrial TrialOrder::queued(const WaitingTrial& trial) const {
  QueuedTrial entry{.level = level_of(trial.urgency, trial.repeat),
                    .rank = 0,
                    .position = trial.slot,
                    .slot = trial.slot,
                    .work = static_cast<float>(trial.work)};
  switch (options_.order) {
    case sweeps::Order::kAuto:
      entry.rank = is_scout(entry) ? entry.work : -entry.work;
      break;
    case sweeps::Order::kGrid:
      break;
    case sweeps::Order::kShuffled:
      entry.position = shuffled(trial.slot, options_.seed);
      break;
  }
  return entry;
}

void TrialOrder::add(const WaitingTrial& trial) {
  Shape& shape = shapes_[trial.shape];
  const auto [entry, fresh] = shape.of_family.try_emplace(trial.family, shape.queues.size());
  if (fresh) {
    shape.queues.emplace_back();
    shape.queues.back().family = trial.family;
    if (of_family_.size() <= trial.family) of_family_.resize(trial.family + 1);
    of_family_[trial.family].emplace_back(trial.shape, entry->second);
  }
  shape.queues[entry->second].trials.add(queued(trial));
  mark_stale(shape, entry->second);
}

void TrialOrder::mark_stale(Shape& shape, std::size_t queue) {
  if (std::exchange(shape.queues[queue].stale, true)) return;
  shape.stale.push_back(queue);
}

void TrialOrder::learn(FamilyId family, double work, double duration_s) {
  const bool first_word = !times_.knows(family);
  times_.learn(family, work, duration_s);
  if (family >= of_family_.size()) return;
  for (const auto& [id, queue] : of_family_[family]) {
    Shape& shape = shapes_[id];
    mark_stale(shape, queue);
    if (!first_word) continue;
    // Counted with their limit they were too late; now more is known.
    std::vector<WaitingTrial> again;
    const auto of_this = [&](const WaitingTrial& trial) { return trial.family == family; };
    std::ranges::copy_if(shape.aside, std::back_inserter(again), of_this);
    std::erase_if(shape.aside, of_this);
    for (const WaitingTrial& trial : again) add(trial);
  }
}

OrderKey TrialOrder::key_of(const Shape& shape, FamilyId family, const QueuedTrial& trial) const {
  OrderKey key{.level = trial.level, .position = trial.position};
  if (options_.order != sweeps::Order::kAuto) return key;
  key.few_ranks = -shape.ranks;
  if (is_scout(trial)) {
    key.measure = trial.work;
    return key;
  }
  // Of what nobody knows most is learnt.
  const std::optional<double> expected = times_.of(family, trial.work);
  key.measure = expected ? -*expected : -std::numeric_limits<double>::infinity();
  return key;
}

// Brings the queue's share of its type's work up to date.
void TrialOrder::count(const Shape& shape, Queue& queue) {
  Left& left = left_[shape.type];
  left.seconds -= queue.share.seconds;
  left.unknown -= queue.share.unknown;
  queue.share = {};
  if (!queue.trials.empty()) {
    const auto trials = static_cast<std::int64_t>(queue.trials.size());
    const auto count = static_cast<double>(trials);
    const std::optional<double> mean_s = times_.of(queue.family, queue.trials.work_sum() / count);
    if (mean_s) queue.share.seconds = *mean_s * count * static_cast<double>(shape.ranks);
    if (!mean_s) queue.share.unknown = trials * shape.ranks;
  }
  left.seconds += queue.share.seconds;
  left.unknown += queue.share.unknown;
}

void TrialOrder::refresh(Shape& shape) {
  for (const std::size_t index : shape.stale) {
    Queue& queue = shape.queues[index];
    queue.stale = false;
    count(shape, queue);
    if (queue.key) shape.heads.erase({*queue.key, index});
    queue.key.reset();
    if (queue.trials.empty()) continue;
    queue.key = key_of(shape, queue.family, queue.trials.front());
    shape.heads.emplace(*queue.key, index);
  }
  shape.stale.clear();
}

bool TrialOrder::too_late(FamilyId family, double work, double now_s) const {
  const std::optional<double> expected = times_.of(family, work);
  const double at_most = expected ? std::min(options_.limit_s, 2 * *expected) : options_.limit_s;
  if (now_s + at_most > options_.hard_end_s) return true;
  return now_s + (expected ? at_most : 0) > options_.soft_end_s;
}

TrialOrder::Next TrialOrder::next_of(const Shape& shape, FamilyId family,
                                     const QueuedTrial& trial) const {
  return {.key = key_of(shape, family, trial),
          .slot = trial.slot,
          .expected_s = times_.of(family, trial.work)};
}

std::optional<TrialOrder::Next> TrialOrder::front(ShapeId id, double now_s) {
  Shape& shape = shapes_[id];
  for (;;) {
    refresh(shape);
    if (shape.heads.empty()) return std::nullopt;
    const std::size_t index = shape.heads.begin()->second;
    Queue& queue = shape.queues[index];
    const QueuedTrial trial = queue.trials.front();
    if (!too_late(queue.family, trial.work, now_s)) {
      Next next = next_of(shape, queue.family, trial);
      next.queue = index;
      return next;
    }
    queue.trials.pop();
    mark_stale(shape, index);
    shape.aside.push_back({.slot = trial.slot,
                           .shape = id,
                           .repeat = static_cast<std::int64_t>(trial.level & 0xffff),
                           .urgency = static_cast<Urgency>(trial.level >> 16),
                           .family = queue.family,
                           .work = trial.work});
  }
}

std::optional<TrialOrder::Next> TrialOrder::within(ShapeId id, double most_s, double now_s) {
  Shape& shape = shapes_[id];
  refresh(shape);
  for (const auto& [key, index] : shape.heads) {
    Queue& queue = shape.queues[index];
    const auto fits = [&](double work) {
      const std::optional<double> expected = times_.of(queue.family, work);
      return expected && *expected <= most_s && !too_late(queue.family, work, now_s);
    };
    const bool by_work = options_.order == sweeps::Order::kAuto;
    const std::optional<std::size_t> place = queue.trials.find(fits, by_work);
    if (!place) continue;
    Next next = next_of(shape, queue.family, queue.trials.at(*place));
    next.queue = index;
    next.place = place;
    return next;
  }
  return std::nullopt;
}

void TrialOrder::take(ShapeId id, const Next& next) {
  Shape& shape = shapes_[id];
  WaitingQueue& trials = shape.queues[next.queue].trials;
  if (next.place) {
    trials.take(*next.place);
  } else {
    BATCHSWEEP_ASSERT(trials.front().slot == next.slot);
    trials.pop();
  }
  mark_stale(shape, next.queue);
}

std::size_t TrialOrder::waiting(ShapeId id) const {
  const Shape& shape = shapes_[id];
  std::size_t count = shape.aside.size();
  for (const Queue& queue : shape.queues) count += queue.trials.size();
  return count;
}

TrialOrder::Left TrialOrder::left(std::size_t type) {
  if (type >= left_.size()) return {};
  for (const ShapeId id : shapes_of_[type]) refresh(shapes_[id]);
  return {std::max(0.0, left_[type].seconds), left_[type].unknown};
}

std::vector<TrialOrder::Next> TrialOrder::first(ShapeId id, std::size_t most) const {
  const Shape& shape = shapes_[id];
  std::vector<Next> all;
  for (const Queue& queue : shape.queues) {
    for (const QueuedTrial& trial : queue.trials.first(most))
      all.push_back(next_of(shape, queue.family, trial));
  }
  std::ranges::sort(all, {}, &Next::key);
  for (const WaitingTrial& trial : shape.aside) {
    if (all.size() >= most) break;
    all.push_back(next_of(shape, trial.family, queued(trial)));
    all.back().too_late = true;
  }
  all.resize(std::min(all.size(), most));
  return all;
}

}  // namespace batchsweep::orchestrator
