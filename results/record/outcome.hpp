// SPDX-License-Identifier: Apache-2.0
// How a trial ended: the closed list (docs/failures.md), its phases and reasons. From typed evidence, never from searching logs.
#pragma once

#include "base/enum_names.hpp"

namespace batchsweep::results {

enum class Outcome {
  kCompleted,
  kOutOfMemory,      // the device's; a result, not an error
  kHostOutOfMemory,
  kFailed,           // an error with its text
  kCrashed,          // signal or exit code
  kTimedOut,         // with the phase
  kDiverged,         // loss not finite
  kSkipped,          // with the reason
  kInterrupted,      // preempted, wall time, stopped: never final
  kLost,             // its agent died; runs again within its budget
};
constexpr auto enum_names(Outcome) {
  return std::to_array<EnumName<Outcome>>({{Outcome::kCompleted, "completed"}, {Outcome::kOutOfMemory, "out_of_memory"},
      {Outcome::kHostOutOfMemory, "host_out_of_memory"}, {Outcome::kFailed, "failed"}, {Outcome::kCrashed, "crashed"},
      {Outcome::kTimedOut, "timed_out"}, {Outcome::kDiverged, "diverged"}, {Outcome::kSkipped, "skipped"},
      {Outcome::kInterrupted, "interrupted"}, {Outcome::kLost, "lost"}});
}

enum class Phase { kLaunch, kSetup, kWarmup, kTimed, kTeardown };
constexpr auto enum_names(Phase) {
  return std::to_array<EnumName<Phase>>({{Phase::kLaunch, "launch"}, {Phase::kSetup, "setup"}, {Phase::kWarmup, "warmup"},
                                         {Phase::kTimed, "timed"}, {Phase::kTeardown, "teardown"}});
}

// The closed words of column `reason`; kNone is "" in the file. The sentence for people is `message`.
enum class Reason {
  kNone,
  kDeviceAbsent, kDeviceNotClean, kPruned, kUnsupported,  // skipped
  kTimeLimit, kSetupLimit, kStall,                        // timed_out
  kException, kProtocol, kLaunch,                         // failed
  kSignal, kExitCode, kNoResult,                          // crashed
  kStopped, kOrchestratorDied,                            // interrupted
  kAgentLost,                                             // lost
};
constexpr auto enum_names(Reason) {
  return std::to_array<EnumName<Reason>>({{Reason::kNone, ""}, {Reason::kDeviceAbsent, "device_absent"},
      {Reason::kDeviceNotClean, "device_not_clean"}, {Reason::kPruned, "pruned"}, {Reason::kUnsupported, "unsupported"},
      {Reason::kTimeLimit, "time_limit"}, {Reason::kSetupLimit, "setup_limit"}, {Reason::kStall, "stall"},
      {Reason::kException, "exception"}, {Reason::kProtocol, "protocol"}, {Reason::kLaunch, "launch"},
      {Reason::kSignal, "signal"}, {Reason::kExitCode, "exit_code"}, {Reason::kNoResult, "no_result"},
      {Reason::kStopped, "stopped"}, {Reason::kOrchestratorDied, "orchestrator_died"}, {Reason::kAgentLost, "agent_lost"}});
}

// What ends a (trial, repeat) for good, given how many executions (crashed or lost ones) it has used.
// Those two share one budget, because a trial that kills its agent must not run for ever; what was stopped from outside uses none of it.
[[nodiscard]] constexpr bool is_final(Outcome outcome, Reason reason, long executions, long retries) {
  switch (outcome) {
    case Outcome::kCompleted:
    case Outcome::kOutOfMemory:
    case Outcome::kHostOutOfMemory:
    case Outcome::kFailed:
    case Outcome::kTimedOut:
    case Outcome::kDiverged:
      return true;
    case Outcome::kSkipped:
      return reason == Reason::kUnsupported || reason == Reason::kPruned;
    case Outcome::kCrashed:
    case Outcome::kLost:
      return executions >= 1 + retries;
    case Outcome::kInterrupted:
      return false;
  }
  return false;
}

// A final row that makes the exit code 3.
[[nodiscard]] constexpr bool is_failure(Outcome outcome) {
  switch (outcome) {
    case Outcome::kFailed:
    case Outcome::kCrashed:
    case Outcome::kTimedOut:
    case Outcome::kDiverged:
    case Outcome::kHostOutOfMemory:
    case Outcome::kLost:
      return true;
    case Outcome::kCompleted:
    case Outcome::kOutOfMemory:
    case Outcome::kSkipped:
    case Outcome::kInterrupted:
      return false;
  }
  return false;
}

}  // namespace batchsweep::results
