// SPDX-License-Identifier: Apache-2.0
// The state of every (trial, repeat) of the sweep, one slot each: eight flat bytes, because there
// may be millions. Keeps the counts. Knows no devices, no messages, no time.
#pragma once

#include <cstdint>
#include <vector>

#include "orchestrator/scheduler.hpp"
#include "results/record/outcome.hpp"
#include "results/store/results_store.hpp"
#include "sweeps/grid.hpp"
#include "worker/protocol/messages.hpp"

namespace batchsweep::orchestrator {

enum class SlotState : std::uint8_t {
  kWaiting,    // not final; nothing of it runs
  kRunning,    // an attempt runs
  kRecording,  // its end is known, but not yet durable
  kDone,       // final and durable
  kAbsent,     // no device here can hold it
};
inline constexpr std::size_t kSlotStates = 5;

struct Slot {
  SlotState state = SlotState::kWaiting;
  bool failure : 1 = false;      // done, and of the outcomes that make a sweep fail
  bool has_row : 1 = false;      // the results file has a row for it
  bool suspect : 1 = false;      // open at many starts
  std::uint16_t executions = 0;  // crashed and lost ones
  std::uint32_t attempts = 0;    // the highest number given so far
};
static_assert(sizeof(Slot) == 8);

class TrialTable {
 public:
  // Slots are numbered repeat by repeat, so that everything is measured once before anything is
  // repeated.
  TrialTable(const sweeps::Grid& grid, std::int64_t repeats, std::int64_t retries,
             const std::vector<results::RecordedState>& recorded);

  [[nodiscard]] std::size_t size() const { return slots_.size(); }
  [[nodiscard]] const Slot& slot(SlotId id) const { return slots_[id]; }
  [[nodiscard]] std::size_t trial_of(SlotId id) const { return id % trials_; }
  [[nodiscard]] std::int64_t repeat_of(SlotId id) const {
    return static_cast<std::int64_t>(id / trials_);
  }
  [[nodiscard]] std::int64_t count(SlotState state) const {
    return counts_[static_cast<std::size_t>(state)];
  }
  [[nodiscard]] std::int64_t failures() const { return failures_; }
  [[nodiscard]] Urgency urgency(SlotId id) const;

  // kWaiting -> kRunning; the new attempt's number.
  [[nodiscard]] std::int64_t start(SlotId id);
  // kRunning -> kRecording; is this the slot's last attempt?
  [[nodiscard]] bool end(SlotId id, results::Outcome outcome, results::Reason reason);
  // kRecording -> kDone or, if not final, kWaiting.
  void recorded(SlotId id, bool final, bool failure);
  // Without an attempt: kWaiting -> kRecording (to be skipped for good), kWaiting <-> kAbsent.
  void skip(SlotId id) { move(id, SlotState::kWaiting, SlotState::kRecording); }
  void set_absent(SlotId id) { move(id, SlotState::kWaiting, SlotState::kAbsent); }
  void set_present(SlotId id) { move(id, SlotState::kAbsent, SlotState::kWaiting); }
  void set_has_row(SlotId id) { slots_[id].has_row = true; }

  void check_invariants() const;

 private:
  void take_over(SlotId id, const results::RecordedState& recorded);
  void move(SlotId id, SlotState from, SlotState to);

  std::size_t trials_;
  std::int64_t retries_;
  std::vector<Slot> slots_;
  std::int64_t counts_[kSlotStates] = {};
  std::int64_t failures_ = 0;
};

}  // namespace batchsweep::orchestrator
