// SPDX-License-Identifier: Apache-2.0
#include "orchestrator/verdict.hpp"

#include <gtest/gtest.h>

namespace batchsweep::orchestrator {
namespace {

using protocol::EvidenceKind;
using results::Outcome;
using results::Phase;
using results::Reason;

RankEvidence rank(std::int64_t number, EvidenceKind kind, Reason reason = Reason::kNone) {
  RankEvidence evidence;
  evidence.rank = number;
  evidence.evidence.kind = kind;
  evidence.evidence.reason = reason;
  return evidence;
}

// Each line: a kind, and what it makes of the trial when the other rank was killed for it.
TEST(Verdict, EveryKindOfEvidenceHasItsOutcome) {
  struct Line {
    EvidenceKind kind;
    Reason reason;
    Outcome outcome;
    Reason recorded;
  };
  const Line lines[] = {
      {EvidenceKind::kDeviceOutOfMemory, Reason::kNone, Outcome::kOutOfMemory, Reason::kNone},
      {EvidenceKind::kHostOutOfMemory, Reason::kNone, Outcome::kHostOutOfMemory, Reason::kNone},
      {EvidenceKind::kCrashed, Reason::kSignal, Outcome::kCrashed, Reason::kSignal},
      {EvidenceKind::kCrashed, Reason::kNoResult, Outcome::kCrashed, Reason::kNoResult},
      {EvidenceKind::kDiverged, Reason::kNone, Outcome::kDiverged, Reason::kNone},
      {EvidenceKind::kTimedOut, Reason::kStall, Outcome::kTimedOut, Reason::kStall},
      {EvidenceKind::kFailed, Reason::kException, Outcome::kFailed, Reason::kException},
      {EvidenceKind::kSkipped, Reason::kUnsupported, Outcome::kSkipped, Reason::kUnsupported},
      {EvidenceKind::kAgentLost, Reason::kAgentLost, Outcome::kLost, Reason::kAgentLost},
      {EvidenceKind::kLostPeer, Reason::kNone, Outcome::kFailed, Reason::kException},
  };
  for (const Line& line : lines) {
    const Verdict verdict =
        judge({rank(0, EvidenceKind::kKilled), rank(1, line.kind, line.reason)}, false);
    EXPECT_EQ(verdict.outcome, line.outcome) << to_text(line.kind);
    EXPECT_EQ(verdict.reason, line.recorded) << to_text(line.kind);
    EXPECT_EQ(verdict.guilty_rank, 1) << to_text(line.kind);
  }
}

TEST(Verdict, StrongerEvidenceWinsWheneverItCame) {
  const EvidenceKind by_strength[] = {
      EvidenceKind::kDeviceOutOfMemory, EvidenceKind::kHostOutOfMemory,
      EvidenceKind::kCrashed,           EvidenceKind::kDiverged,
      EvidenceKind::kTimedOut,          EvidenceKind::kFailed,
      EvidenceKind::kSkipped,           EvidenceKind::kAgentLost,
      EvidenceKind::kLostPeer,          EvidenceKind::kKilled,
      EvidenceKind::kCompleted};
  for (std::size_t strong = 0; strong < std::size(by_strength); ++strong) {
    for (std::size_t weak = strong + 1; weak < std::size(by_strength); ++weak) {
      EXPECT_EQ(
          judge({rank(0, by_strength[weak]), rank(1, by_strength[strong])}, false).guilty_rank, 1)
          << strong << " " << weak;
      EXPECT_EQ(
          judge({rank(1, by_strength[strong]), rank(0, by_strength[weak])}, false).guilty_rank, 1)
          << strong << " " << weak;
    }
  }
}

TEST(Verdict, TiesGoByArrival) {
  EXPECT_EQ(
      judge({rank(3, EvidenceKind::kCrashed), rank(1, EvidenceKind::kCrashed)}, false).guilty_rank,
      3);
}

TEST(Verdict, ATrialCompletesOnlyWhenAllRanksDid) {
  const Verdict all =
      judge({rank(1, EvidenceKind::kCompleted), rank(0, EvidenceKind::kCompleted)}, false);
  EXPECT_EQ(all.outcome, Outcome::kCompleted);
  EXPECT_EQ(all.guilty_rank, std::nullopt);
  EXPECT_EQ(
      judge({rank(1, EvidenceKind::kCompleted), rank(0, EvidenceKind::kKilled)}, true).outcome,
      Outcome::kInterrupted);
}

TEST(Verdict, AKillIsAnInterruptionWhenTheSweepStopsAndALossOtherwise) {
  EXPECT_EQ(judge({rank(0, EvidenceKind::kKilled)}, true).outcome, Outcome::kInterrupted);
  EXPECT_EQ(judge({rank(0, EvidenceKind::kKilled)}, true).reason, Reason::kStopped);
  EXPECT_EQ(judge({rank(0, EvidenceKind::kKilled)}, false).outcome, Outcome::kLost);
  EXPECT_EQ(judge({rank(0, EvidenceKind::kKilled)}, false).reason, Reason::kAgentLost);
}

// Slurm's SIGTERM goes to every process of the job: what it ends while we stop has not crashed.
TEST(Verdict, SigtermWhileTheSweepStopsIsAnInterruption) {
  const auto died_by = [](std::int64_t number) {
    RankEvidence dead = rank(0, EvidenceKind::kCrashed, Reason::kSignal);
    dead.evidence.signal = number;
    return dead;
  };
  EXPECT_EQ(judge({died_by(15)}, true).outcome, Outcome::kInterrupted);
  EXPECT_EQ(judge({died_by(15)}, true).reason, Reason::kStopped);
  EXPECT_EQ(judge({died_by(15)}, false).outcome, Outcome::kCrashed);
  EXPECT_EQ(judge({died_by(11)}, true).outcome, Outcome::kCrashed);
}

TEST(Verdict, OnlyAFailureToLaunchIsALaunchFault) {
  EXPECT_TRUE(is_launch_fault(judge({rank(0, EvidenceKind::kFailed, Reason::kLaunch)}, false)));
  EXPECT_FALSE(is_launch_fault(judge({rank(0, EvidenceKind::kFailed, Reason::kException)}, false)));
  EXPECT_FALSE(is_launch_fault(judge({rank(0, EvidenceKind::kCompleted)}, false)));
}

}  // namespace
}  // namespace batchsweep::orchestrator
