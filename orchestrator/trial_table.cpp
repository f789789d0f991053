// SPDX-License-Identifier: Apache-2.0
#include "orchestrator/trial_table.hpp"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "base/check.hpp"

namespace batchsweep::orchestrator {
namespace {

// A trial that was running at so many unexpected ends of the sweep may be their cause.
constexpr std::int32_t kSuspectStarts = 5;

template <class To>
To saturated(std::int64_t value) {
  return static_cast<To>(std::clamp<std::int64_t>(value, 0, std::numeric_limits<To>::max()));
}

}  // namespace

TrialTable::TrialTable(const sweeps::Grid& grid, std::int64_t repeats, std::int64_t retries,
                       const std::vector<results::RecordedState>& recorded)
    : trials_(grid.size()), retries_(retries) {
  BATCHSWEEP_ASSERT(repeats >= 1 && trials_ * static_cast<std::uint64_t>(repeats) <
                                        std::numeric_limits<SlotId>::max());
  slots_.resize(trials_ * static_cast<std::size_t>(repeats));
  counts_[static_cast<std::size_t>(SlotState::kWaiting)] = static_cast<std::int64_t>(slots_.size());
  if (recorded.empty()) return;
  std::unordered_multimap<std::uint64_t, const results::RecordedState*> by_trial;
  by_trial.reserve(recorded.size());
  for (const results::RecordedState& state : recorded) by_trial.emplace(state.trial.value, &state);
  for (std::size_t trial = 0; trial < trials_; ++trial) {
    const auto [begin, end] = by_trial.equal_range(grid.id(trial).value);
    for (auto it = begin; it != end; ++it) {
      const results::RecordedState& state = *it->second;
      if (state.repeat < 0 || state.repeat >= repeats) continue;
      take_over(static_cast<SlotId>(static_cast<std::size_t>(state.repeat) * trials_ + trial),
                state);
    }
  }
}

void TrialTable::take_over(SlotId id, const results::RecordedState& recorded) {
  Slot& slot = slots_[id];
  slot.attempts = saturated<std::uint32_t>(recorded.attempts);
  slot.executions = saturated<std::uint16_t>(recorded.executions);
  slot.suspect = recorded.open_starts >= kSuspectStarts;
  slot.has_row = recorded.has_row;
  if (!results::is_final(recorded, retries_)) return;
  slot.failure = results::is_failure(recorded.outcome);
  failures_ += slot.failure;
  move(id, SlotState::kWaiting, SlotState::kDone);
}

void TrialTable::move(SlotId id, SlotState from, SlotState to) {
  BATCHSWEEP_ASSERT(slots_[id].state == from);
  slots_[id].state = to;
  --counts_[static_cast<std::size_t>(from)];
  ++counts_[static_cast<std::size_t>(to)];
}

Urgency TrialTable::urgency(SlotId id) const {
  const Slot& slot = slots_[id];
  if (slot.suspect) return Urgency::kSuspect;
  return slot.executions > 0 ? Urgency::kAgain : Urgency::kNormal;
}

std::int64_t TrialTable::start(SlotId id) {
  move(id, SlotState::kWaiting, SlotState::kRunning);
  return ++slots_[id].attempts;
}

bool TrialTable::end(SlotId id, results::Outcome outcome, results::Reason reason) {
  move(id, SlotState::kRunning, SlotState::kRecording);
  Slot& slot = slots_[id];
  if (outcome == results::Outcome::kCrashed || outcome == results::Outcome::kLost) {
    slot.executions = saturated<std::uint16_t>(slot.executions + 1);
  }
  return results::is_final(outcome, reason, slot.executions, retries_);
}

void TrialTable::recorded(SlotId id, bool final, bool failure) {
  Slot& slot = slots_[id];
  slot.has_row = true;
  slot.failure = final && failure;
  failures_ += slot.failure;
  move(id, SlotState::kRecording, final ? SlotState::kDone : SlotState::kWaiting);
}

void TrialTable::check_invariants() const {
  std::int64_t counts[kSlotStates] = {};
  std::int64_t failures = 0;
  for (const Slot& slot : slots_) {
    ++counts[static_cast<std::size_t>(slot.state)];
    failures += slot.failure;
    BATCHSWEEP_ASSERT(!slot.failure || slot.state == SlotState::kDone);
    BATCHSWEEP_ASSERT(slot.executions <= slot.attempts);
  }
  BATCHSWEEP_ASSERT(std::ranges::equal(counts, counts_));
  BATCHSWEEP_ASSERT(failures == failures_);
}

}  // namespace batchsweep::orchestrator
