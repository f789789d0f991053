// SPDX-License-Identifier: Apache-2.0
// What one rank's end tells, typed. The core merges the ranks' evidence into one outcome (orchestrator/verdict.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/enum_names.hpp"
#include "results/record/outcome.hpp"

namespace batchsweep::protocol {

// In the order of priority: the first kind found among the ranks is the guilty one; a trial completes only when all
// ranks completed.
enum class EvidenceKind {
  kDeviceOutOfMemory,
  kHostOutOfMemory,
  kCrashed,       // signal, exit code, or exit 0 without a result
  kDiverged,
  kTimedOut,      // time, set-up or stall limit: found by the agent
  kFailed,        // the trial's own exception, or a protocol or launch error
  kSkipped,       // the trial cannot be done on this device (unsupported), or the device is not clean
  kLostPeer,      // a collective failed because another rank is gone
  kKilled,        // by us: another rank failed, or a stop
  kAgentLost,     // made by the core
  kCompleted,
};
constexpr auto enum_names(EvidenceKind) {
  return std::to_array<EnumName<EvidenceKind>>({{EvidenceKind::kDeviceOutOfMemory, "device_out_of_memory"},
      {EvidenceKind::kHostOutOfMemory, "host_out_of_memory"}, {EvidenceKind::kCrashed, "crashed"},
      {EvidenceKind::kDiverged, "diverged"}, {EvidenceKind::kTimedOut, "timed_out"}, {EvidenceKind::kFailed, "failed"},
      {EvidenceKind::kSkipped, "skipped"}, {EvidenceKind::kLostPeer, "lost_peer"}, {EvidenceKind::kKilled, "killed"},
      {EvidenceKind::kAgentLost, "agent_lost"}, {EvidenceKind::kCompleted, "completed"}});
}

// A rank's end in the words of outcomes, judged by its own evidence alone. One that was killed did not end by itself; whether its trial
// is thereby interrupted or lost is for the core to say.
constexpr results::Outcome outcome_of(EvidenceKind kind) {
  switch (kind) {
    case EvidenceKind::kDeviceOutOfMemory:
      return results::Outcome::kOutOfMemory;
    case EvidenceKind::kHostOutOfMemory:
      return results::Outcome::kHostOutOfMemory;
    case EvidenceKind::kCrashed:
      return results::Outcome::kCrashed;
    case EvidenceKind::kDiverged:
      return results::Outcome::kDiverged;
    case EvidenceKind::kTimedOut:
      return results::Outcome::kTimedOut;
    case EvidenceKind::kFailed:
    case EvidenceKind::kLostPeer:
      return results::Outcome::kFailed;
    case EvidenceKind::kSkipped:
      return results::Outcome::kSkipped;
    case EvidenceKind::kKilled:
      return results::Outcome::kInterrupted;
    case EvidenceKind::kAgentLost:
      return results::Outcome::kLost;
    case EvidenceKind::kCompleted:
      return results::Outcome::kCompleted;
  }
  return results::Outcome::kFailed;
}

struct Evidence {
  EvidenceKind kind = EvidenceKind::kCompleted;
  results::Reason reason = results::Reason::kNone;
  results::Phase phase = results::Phase::kLaunch;  // where it ended
  std::string message;                             // a sentence for people: what and what to do
  std::optional<std::int64_t> exit_code, signal, step;
  std::optional<double> oom_requested_bytes, oom_allocated_bytes, oom_reserved_bytes, oom_limit_bytes;
  bool operator==(const Evidence&) const = default;
};

}  // namespace batchsweep::protocol
