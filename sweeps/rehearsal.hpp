// SPDX-License-Identifier: Apache-2.0
// Rehearsal: a sweep that plays instead of training. The file's [rehearsal] as structs, and the pure function
// from (rule, trial, rank, attempt, seed) to the script that player and simulator both play.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/enum_names.hpp"
#include "base/json.hpp"
#include "sweeps/axis.hpp"
#include "sweeps/trial_spec.hpp"

namespace batchsweep::sweeps {

enum class Fault {
  kNone, kHang, kStop, kSegfault, kKill, kExit, kHalfLine, kGarbage, kNanLoss, kOom, kHostOom, kBusError, kGrandchild, kKillAgent
};
constexpr auto enum_names(Fault) {
  return std::to_array<EnumName<Fault>>({{Fault::kNone, "none"}, {Fault::kHang, "hang"}, {Fault::kStop, "stop"},
      {Fault::kSegfault, "segfault"}, {Fault::kKill, "kill"}, {Fault::kExit, "exit"}, {Fault::kHalfLine, "half_line"},
      {Fault::kGarbage, "garbage"}, {Fault::kNanLoss, "nan_loss"}, {Fault::kOom, "oom"}, {Fault::kHostOom, "host_oom"},
      {Fault::kBusError, "bus_error"}, {Fault::kGrandchild, "grandchild"}, {Fault::kKillAgent, "kill_agent"}});
}

struct RehearsalRule {
  std::vector<AxisMatch> when;
  double memory_fixed_bytes = 0, memory_per_sample_bytes = 0, memory_noise = 0;
  double memory_steps_bytes = 0;               // > 0: rounded up to a multiple
  std::vector<std::int64_t> memory_except;     // batches that need twice as much
  double reserved_factor = 1;                  // reserved over allocated
  double step_fixed_s = 0, step_per_sample_s = 0, step_noise = 0;
  std::string step_series = "iid";             // "ar1:0.9", "drift", "bimodal", "spikes"
  Fault fault = Fault::kNone;
  int fault_exit_code = 0;                     // of "exit:3"
  std::int64_t fault_rank = 0, fault_step = 2;
  std::optional<std::int64_t> fault_attempts;  // only the first so many; absent: every attempt
  double fault_probability = 1;
  std::string text;                            // canonical form: hashed into the identity of the trials it matches
};

struct RehearsalNode {
  std::map<std::string, std::int64_t> devices;  // name -> count
  std::int64_t count = 1;
};

struct Rehearsal {
  bool simulated = false;  // mode = "simulated"; else real processes that play
  std::vector<RehearsalNode> nodes;
  std::vector<RehearsalRule> rules;
};

// What one rank plays. Memory is the same at every step (peak from step 1 on); out of memory follows from it and the limit.
struct PlayScript {
  double setup_s = 0;
  std::vector<double> step_times_s;  // warm-up first
  double allocated_bytes = 0, reserved_bytes = 0;
  Fault fault = Fault::kNone;
  int fault_exit_code = 0;
  std::int64_t fault_step = 2;  // 1 = the first step, warm-up counted
  bool operator==(const PlayScript&) const = default;
};
// What an allocator would say at the moment it refuses.
struct PlayedOutOfMemory {
  double requested_bytes = 0, allocated_bytes = 0, reserved_bytes = 0, limit_bytes = 0;
  std::int64_t step = 1;  // the step in which it happens
  bool operator==(const PlayedOutOfMemory&) const = default;
};
// Does this rank run out of memory on a device with that limit: by what it needs (in step 1) or by its fault (in fault_step)?
[[nodiscard]] std::optional<PlayedOutOfMemory> played_out_of_memory(const PlayScript& script, double limit_bytes);

// A curve that falls, so that reports of rehearsals look as they will. Steps count from 1.
[[nodiscard]] inline double played_loss(std::int64_t step) { return 2.0 / static_cast<double>(step) + 0.1; }

[[nodiscard]] Json to_json(const PlayScript& script);
[[nodiscard]] PlayScript play_script_from_json(const Json& json);

// The first rule that matches, nullptr if none (refused when the file is read).
[[nodiscard]] const RehearsalRule* matching_rule(const Rehearsal& rehearsal, const TrialSpec& spec);
// Pure: equal arguments give equal scripts. `attempt` counts from 1, `rank` and `repeat` from 0. Seeded by the spec (which holds the
// sweep's seed), so that the fault of one trial does not depend on what else is in the grid.
[[nodiscard]] PlayScript play_script(const RehearsalRule& rule, const TrialSpec& spec, std::int64_t rank,
                                     std::int64_t repeat, std::int64_t attempt);

}  // namespace batchsweep::sweeps
