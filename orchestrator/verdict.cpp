// SPDX-License-Identifier: Apache-2.0
#include "orchestrator/verdict.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace batchsweep::orchestrator {
namespace {

using protocol::EvidenceKind;
using results::Outcome;
using results::Reason;

// The kinds stand in the order of priority, but for one: a rank that saw a peer vanish, or that we
// killed for it, explains nothing when an agent is known to be lost.
int priority(EvidenceKind kind) {
  if (kind == EvidenceKind::kAgentLost) return 2 * static_cast<int>(EvidenceKind::kLostPeer) - 1;
  return 2 * static_cast<int>(kind);
}

Outcome outcome_of(EvidenceKind kind, bool stopping) {
  switch (kind) {
    case EvidenceKind::kDeviceOutOfMemory:
      return Outcome::kOutOfMemory;
    case EvidenceKind::kHostOutOfMemory:
      return Outcome::kHostOutOfMemory;
    case EvidenceKind::kCrashed:
      return Outcome::kCrashed;
    case EvidenceKind::kDiverged:
      return Outcome::kDiverged;
    case EvidenceKind::kTimedOut:
      return Outcome::kTimedOut;
    case EvidenceKind::kFailed:
    case EvidenceKind::kLostPeer:
      return Outcome::kFailed;
    case EvidenceKind::kSkipped:
      return Outcome::kSkipped;
    case EvidenceKind::kKilled:
      return stopping ? Outcome::kInterrupted : Outcome::kLost;
    case EvidenceKind::kAgentLost:
      return Outcome::kLost;
    case EvidenceKind::kCompleted:
      return Outcome::kCompleted;
  }
  return Outcome::kFailed;
}

Reason reason_of(const protocol::Evidence& evidence, Outcome outcome) {
  if (outcome == Outcome::kInterrupted) return Reason::kStopped;
  if (outcome == Outcome::kLost) return Reason::kAgentLost;
  if (evidence.kind == EvidenceKind::kLostPeer && evidence.reason == Reason::kNone)
    return Reason::kException;
  return evidence.reason;
}

}  // namespace

Verdict judge(const std::vector<RankEvidence>& ended, bool stopping) {
  BATCHSWEEP_ASSERT(!ended.empty());
  // The first of equals: ties go by arrival.
  const auto guilty = std::ranges::min_element(
      ended, {}, [](const RankEvidence& rank) { return priority(rank.evidence.kind); });
  Verdict verdict;
  verdict.evidence = guilty->evidence;
  verdict.outcome = outcome_of(guilty->evidence.kind, stopping);
  verdict.reason = reason_of(guilty->evidence, verdict.outcome);
  if (guilty->evidence.kind != EvidenceKind::kCompleted) verdict.guilty_rank = guilty->rank;
  return verdict;
}

protocol::Evidence own_evidence(EvidenceKind kind, results::Phase phase,
                                const std::string& message) {
  protocol::Evidence evidence;
  evidence.kind = kind;
  evidence.phase = phase;
  evidence.message = message;
  return evidence;
}

bool is_launch_fault(const Verdict& verdict) {
  return verdict.outcome == Outcome::kFailed && verdict.reason == Reason::kLaunch;
}

}  // namespace batchsweep::orchestrator
