// SPDX-License-Identifier: Apache-2.0
#include "orchestrator/verdict.hpp"

#include <algorithm>
#include <csignal>

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

// A cluster that ends a job sends SIGTERM to every process of it, so to the trials too.
bool ended_with_us(const protocol::Evidence& evidence, bool stopping) {
  return stopping && evidence.kind == EvidenceKind::kCrashed && evidence.signal == SIGTERM;
}

Outcome outcome_of(EvidenceKind kind, bool stopping) {
  // Killed although nobody wanted to stop: the cause was never heard of.
  if (kind == EvidenceKind::kKilled && !stopping) return Outcome::kLost;
  return protocol::outcome_of(kind);
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
  verdict.outcome = ended_with_us(guilty->evidence, stopping)
                        ? Outcome::kInterrupted
                        : outcome_of(guilty->evidence.kind, stopping);
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
