// SPDX-License-Identifier: Apache-2.0
// What can run on this cluster and what cannot: decided once for all trials that need the same.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "orchestrator/core_state.hpp"
#include "orchestrator/record_attempt.hpp"
#include "orchestrator/supported.hpp"
#include "orchestrator/trial_class.hpp"

namespace batchsweep::orchestrator {
namespace {

using Fate = KindOfTrial::Fate;

// Records of trials that cannot run are asked for in portions: there may be a million of them.
constexpr std::size_t kMostSkipsPending = 256;

std::string why_too_large(const Needs& needs) {
  const std::string what = fmt::format("{} x {} for one trial", needs.world_size, needs.gpu);
  if (needs.pinned_host + needs.pinned_device == sweeps::kNowhere)
    return fmt::format("no {} was here when the sweep began, to which a trial could be pinned",
                       needs.gpu);
  if (!needs.pinned_device.empty())
    return fmt::format("the {} {} that a trial is pinned to is not here", needs.gpu,
                       needs.pinned_device);
  if (!needs.pinned_host.empty())
    return fmt::format("{} are more than host {} has", what, needs.pinned_host);
  if (needs.num_nodes)
    return fmt::format("{} on {} hosts are more than is here", what, *needs.num_nodes);
  return what + " are more than this cluster can hold";
}

}  // namespace

KindId Core::State::kind_of(const sweeps::TrialSpec& spec,
                            std::map<std::pair<Needs, std::string>, KindId>& known) {
  const auto [entry, fresh] = known.try_emplace(
      {needs_of(spec, sweep.exclusive_host), spec.precision}, static_cast<KindId>(kinds.size()));
  if (fresh) {
    KindOfTrial kind;
    std::tie(kind.needs, kind.precision) = entry->first;
    kind.shape = scheduler.shape_of(kind.needs);
    kinds.push_back(std::move(kind));
  }
  return entry->second;
}

// Looks at each point of the grid once.
void Core::State::find_kinds() {
  std::map<std::pair<Needs, std::string>, KindId> known;
  std::unordered_map<std::string, FamilyId> families;
  std::unordered_map<std::uint64_t, double> times;
  for (const KnownTime& time : options.known_times) times[time.trial.value] = time.duration_s;
  classes.resize(grid.size());
  grid.for_each([&](std::size_t trial, const sweeps::TrialSpec& spec) {
    const auto family =
        families.try_emplace(family_of(spec), static_cast<FamilyId>(families.size()));
    classes[trial] = {.kind = kind_of(spec, known),
                      .family = family.first->second,
                      .work = static_cast<float>(work_of(spec))};
    const auto time = times.find(grid.id(trial).value);
    if (time != times.end())
      scheduler.learn(classes[trial].family, classes[trial].work, time->second);
  });
  scouts.assign(families.size(), grid.size());
  find_scouts();
}

// The smallest trial of each family: fewest ranks, then least work.
void Core::State::find_scouts() {
  const auto size_of = [&](std::size_t trial) {
    return std::pair(kinds[classes[trial].kind].needs.world_size, classes[trial].work);
  };
  for (std::size_t trial = 0; trial < classes.size(); ++trial) {
    if (table.slot(static_cast<SlotId>(trial)).state == SlotState::kDone) continue;
    std::size_t& scout = scouts[classes[trial].family];
    if (scout == classes.size() || size_of(trial) < size_of(scout)) scout = trial;
  }
}

Urgency Core::State::urgency(SlotId slot) const {
  const FamilyId family = class_of(slot).family;
  const Urgency urgency = table.urgency(slot);
  const bool scout = urgency == Urgency::kNormal && sweep.order == sweeps::Order::kAuto &&
                     scouts[family] == slot && !scheduler.expected_s(family, 1);
  return scout ? Urgency::kScout : urgency;
}

void Core::State::decide(KindOfTrial& kind) {
  const auto device = std::ranges::find_if(cluster.devices(), [&](const Device& d) {
    return d.offer.type == kind.needs.gpu && cluster.usable(d.id);
  });
  if (device == cluster.devices().end()) {
    kind.fate = Fate::kAbsent;
    kind.why = fmt::format("no device of type {} here", kind.needs.gpu);
  } else if (!scheduler.could_hold(kind.shape)) {
    kind.fate = Fate::kAbsent;
    kind.why = why_too_large(kind.needs);
  } else if (std::optional<std::string> why =
                 why_unsupported(kind.precision, kind.needs.world_size, device->offer)) {
    kind.fate = Fate::kUnsupported;
    kind.why = *std::move(why);
  } else {
    kind.fate = Fate::kRuns;
    kind.why.clear();
  }
}

// Also when an agent came late: what was absent may be there now.
void Core::State::decide_kinds() {
  std::vector<Fate> before;
  before.reserve(kinds.size());
  for (const KindOfTrial& kind : kinds) before.push_back(kind.fate);
  for (std::size_t id = 0; id < kinds.size(); ++id) {
    if (before[id] == Fate::kUndecided || before[id] == Fate::kAbsent) decide(kinds[id]);
  }
  const auto unchanged = [&](std::size_t id) { return kinds[id].fate == before[id]; };
  bool all_unchanged = true;
  for (std::size_t id = 0; id < kinds.size(); ++id) all_unchanged = all_unchanged && unchanged(id);
  if (all_unchanged) {
    skip_cursor = kinds.empty() ? table.size() : skip_cursor;
    return;
  }
  queue_waiting(before);
  say_what_cannot_run(before);
  const bool all_run =
      std::ranges::all_of(kinds, [](const KindOfTrial& kind) { return kind.fate == Fate::kRuns; });
  skip_cursor = all_run ? table.size() : 0;
}

void Core::State::queue_waiting(const std::vector<Fate>& before) {
  for (SlotId slot = 0; slot < table.size(); ++slot) {
    const SlotState state = table.slot(slot).state;
    if (state != SlotState::kWaiting && state != SlotState::kAbsent) continue;
    const KindId id = class_of(slot).kind;
    const Fate fate = kinds[id].fate;
    if (fate == before[id]) continue;
    if (fate == Fate::kAbsent) {
      table.set_absent(slot);
      continue;
    }
    if (state == SlotState::kAbsent) table.set_present(slot);
    enqueue(slot);
  }
}

void Core::State::enqueue(SlotId slot) {
  const TrialClass& known = class_of(slot);
  if (kinds[known.kind].fate != Fate::kRuns) return;
  scheduler.add({.slot = slot,
                 .shape = kinds[known.kind].shape,
                 .repeat = table.repeat_of(slot),
                 .urgency = urgency(slot),
                 .family = known.family,
                 .work = known.work});
}

void Core::State::say_what_cannot_run(const std::vector<Fate>& before) {
  std::vector<std::int64_t> counts(kinds.size());
  for (SlotId slot = 0; slot < table.size(); ++slot) {
    const SlotState state = table.slot(slot).state;
    if (state == SlotState::kWaiting || state == SlotState::kAbsent) ++counts[class_of(slot).kind];
  }
  std::map<std::pair<Fate, std::string>, std::int64_t> by_reason;
  for (std::size_t id = 0; id < kinds.size(); ++id) {
    const KindOfTrial& kind = kinds[id];
    if (kind.fate == before[id] || kind.fate == Fate::kRuns) continue;
    by_reason[{kind.fate, kind.why}] += counts[id];
  }
  for (const auto& [reason, count] : by_reason) {
    const char* hint = reason.first == Fate::kAbsent ? "device_absent; they run where there is one"
                                                     : "unsupported";
    say(fmt::format("{}: {} trial{} skipped ({})", reason.second, count, count == 1 ? "" : "s",
                    hint));
  }
}

void Core::State::record_what_cannot_run() {
  if (stop != Stop::kNo) return;
  for (; skip_cursor < table.size() && skips_pending < kMostSkipsPending; ++skip_cursor) {
    const auto slot = static_cast<SlotId>(skip_cursor);
    const Slot& known = table.slot(slot);
    const bool absent = known.state == SlotState::kAbsent && !known.has_row;
    const bool unsupported =
        known.state == SlotState::kWaiting && kind(slot).fate == Fate::kUnsupported;
    if (!absent && !unsupported) continue;
    const std::size_t trial = table.trial_of(slot);
    const protocol::AttemptKey key{
        .trial = grid.id(trial), .repeat = table.repeat_of(slot), .attempt = 0};
    const results::Reason reason =
        absent ? results::Reason::kDeviceAbsent : results::Reason::kUnsupported;
    if (absent) {
      table.set_has_row(slot);
    } else {
      table.skip(slot);
    }
    pending[key] = {.slot = slot, .final = unsupported, .failure = false, .aside = absent};
    ++skips_pending;
    out.push_back(RecordAttempt{
        .key = key,
        .final = unsupported,
        .record = record_skipped(key, grid.spec(trial), reason, kind(slot).why, sweep.site)});
  }
}

}  // namespace batchsweep::orchestrator
