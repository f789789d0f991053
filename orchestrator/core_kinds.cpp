// SPDX-License-Identifier: Apache-2.0
// What can run on this cluster and what cannot: decided once for all trials that need the same.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "orchestrator/core_state.hpp"
#include "orchestrator/record_attempt.hpp"
#include "orchestrator/supported.hpp"

namespace batchsweep::orchestrator {
namespace {

using Fate = KindOfTrial::Fate;

// Records of trials that cannot run are asked for in portions: there may be a million of them.
constexpr std::size_t kMostSkipsPending = 256;

}  // namespace

// Looks at each point of the grid once; those that are done need no kind.
void Core::State::find_kinds() {
  std::map<std::tuple<std::string, std::int64_t, std::string>, KindId> known;
  const std::size_t trials = grid.size();
  kind_of_trial.resize(trials);
  for (std::size_t trial = 0; trial < trials; ++trial) {
    bool done = true;
    for (std::size_t slot = trial; slot < table.size() && done; slot += trials) {
      done = table.slot(static_cast<SlotId>(slot)).state == SlotState::kDone;
    }
    if (done) continue;
    sweeps::TrialSpec spec = grid.spec(trial);
    const auto [entry, fresh] =
        known.try_emplace({std::move(spec.gpu), spec.world_size, std::move(spec.precision)}, 0);
    if (fresh) {
      const auto& [gpu, world_size, precision] = entry->first;
      const Needs needs{
          .gpu = gpu, .world_size = world_size, .exclusive_host = sweep.exclusive_host};
      entry->second = scheduler.add_kind(needs);
      kinds.push_back(
          {.needs = needs, .precision = precision, .fate = Fate::kUndecided, .why = {}});
    }
    kind_of_trial[trial] = entry->second;
  }
}

void Core::State::decide(KindOfTrial& kind, KindId id) {
  const auto device = std::ranges::find_if(cluster.devices(), [&](const Device& d) {
    return d.offer.type == kind.needs.gpu && cluster.usable(d.id);
  });
  if (device == cluster.devices().end()) {
    kind.fate = Fate::kAbsent;
    kind.why = fmt::format("no device of type {} here", kind.needs.gpu);
  } else if (!scheduler.could_hold(id)) {
    kind.fate = Fate::kAbsent;
    kind.why = fmt::format("{} x {} for one trial are more than this cluster can hold",
                           kind.needs.world_size, kind.needs.gpu);
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
    if (before[id] == Fate::kUndecided || before[id] == Fate::kAbsent)
      decide(kinds[id], static_cast<KindId>(id));
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
    const KindId id = kind_of_trial[table.trial_of(slot)];
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
  const KindId id = kind_of_trial[table.trial_of(slot)];
  if (kinds[id].fate != Fate::kRuns) return;
  scheduler.add(
      {.slot = slot, .kind = id, .repeat = table.repeat_of(slot), .urgency = table.urgency(slot)});
}

void Core::State::say_what_cannot_run(const std::vector<Fate>& before) {
  std::vector<std::int64_t> counts(kinds.size());
  for (SlotId slot = 0; slot < table.size(); ++slot) {
    const SlotState state = table.slot(slot).state;
    if (state == SlotState::kWaiting || state == SlotState::kAbsent)
      ++counts[kind_of_trial[table.trial_of(slot)]];
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
