// SPDX-License-Identifier: Apache-2.0
#include "orchestrator/simulate/played_rank.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

namespace batchsweep::orchestrator {
namespace {

using protocol::EvidenceKind;
using results::Phase;
using results::Reason;
using sweeps::Fault;

class PlayedRankTest : public testing::Test {
 protected:
  PlayedRankTest() {
    spec_.warmup_steps = 1;
    spec_.timed_steps = 3;
    spec_.batch_size = 8;
    limits_.stall_s = 5;
    limits_.setup_s = 7;
    limits_.time_s = 100;
    script_.setup_s = 0.5;
    script_.step_times_s = {1, 2, 2, 2};
    script_.allocated_bytes = script_.reserved_bytes = 100;
  }
  [[nodiscard]] PlayedRank play(std::optional<std::int64_t> peer_dies_in_step = {}) const {
    return play_rank({.script = script_,
                      .spec = spec_,
                      .limits = limits_,
                      .limit_bytes = 1000,
                      .peer_dies_in_step = peer_dies_in_step});
  }
  sweeps::PlayScript script_;
  sweeps::TrialSpec spec_;
  sweeps::TrialLimits limits_;
};

TEST_F(PlayedRankTest, EndsWithItsStepsMeasured) {
  const PlayedRank played = play();
  EXPECT_EQ(played.ends_after_s, 7.5);
  EXPECT_EQ(played.end.evidence.kind, EvidenceKind::kCompleted);
  EXPECT_EQ(played.end.evidence.phase, Phase::kTeardown);
  EXPECT_EQ(played.end.measured.window_s, 6);
  EXPECT_EQ(played.end.measured.samples, 24);
  EXPECT_EQ(played.end.measured.peak_allocated_bytes, 100);
  EXPECT_EQ(played.end.steps.warmup_steps, 1);
  EXPECT_THAT(played.end.steps.time_s, testing::ElementsAre(1, 2, 2, 2));
  EXPECT_LT(played.end.measured.loss_last, played.end.measured.loss_first);
}

// Each fault strikes in step 3, after 3.5 s. What hangs is given 20 times the median step of 2 s.
TEST_F(PlayedRankTest, EveryFaultGivesTheEvidenceOfTheRealOne) {
  struct Line {
    Fault fault;
    double ends_after_s;
    EvidenceKind kind;
    Reason reason;
    std::optional<std::int64_t> exit_code, signal;
  };
  const Line lines[] = {
      {Fault::kHang, 43.5, EvidenceKind::kTimedOut, Reason::kStall, {}, {}},
      {Fault::kStop, 43.5, EvidenceKind::kTimedOut, Reason::kStall, {}, {}},
      {Fault::kSegfault, 3.5, EvidenceKind::kCrashed, Reason::kSignal, {}, SIGSEGV},
      {Fault::kKill, 3.5, EvidenceKind::kCrashed, Reason::kSignal, {}, SIGKILL},
      {Fault::kExit, 3.5, EvidenceKind::kCrashed, Reason::kExitCode, 3, {}},
      {Fault::kHalfLine, 3.5, EvidenceKind::kCrashed, Reason::kSignal, {}, SIGKILL},
      {Fault::kGarbage, 3.5, EvidenceKind::kFailed, Reason::kProtocol, {}, {}},
      {Fault::kNanLoss, 3.5, EvidenceKind::kDiverged, Reason::kNone, {}, {}},
      {Fault::kOom, 3.5, EvidenceKind::kDeviceOutOfMemory, Reason::kNone, {}, {}},
      {Fault::kHostOom, 3.5, EvidenceKind::kHostOutOfMemory, Reason::kSignal, {}, SIGKILL},
      {Fault::kBusError, 3.5, EvidenceKind::kCrashed, Reason::kSignal, {}, SIGBUS},
      {Fault::kGrandchild, 7.5, EvidenceKind::kCompleted, Reason::kNone, 0, {}},
  };
  script_.fault_step = 3;
  script_.fault_exit_code = 3;
  for (const Line& line : lines) {
    script_.fault = line.fault;
    const PlayedRank played = play();
    EXPECT_EQ(played.ends_after_s, line.ends_after_s) << to_text(line.fault);
    EXPECT_EQ(played.end.evidence.kind, line.kind) << to_text(line.fault);
    EXPECT_EQ(played.end.evidence.reason, line.reason) << to_text(line.fault);
    EXPECT_EQ(played.end.evidence.exit_code, line.exit_code) << to_text(line.fault);
    EXPECT_EQ(played.end.evidence.signal, line.signal) << to_text(line.fault);
    EXPECT_FALSE(played.kills_agent) << to_text(line.fault);
    if (line.kind != EvidenceKind::kCompleted) {
      EXPECT_EQ(played.end.evidence.phase, Phase::kTimed) << to_text(line.fault);
      EXPECT_EQ(played.end.evidence.step, 2) << to_text(line.fault);
    }
  }
  script_.fault = Fault::kKillAgent;
  EXPECT_TRUE(play().kills_agent);
}

TEST_F(PlayedRankTest, MemoryEndsItInTheFirstStepWhateverItsFault) {
  script_.allocated_bytes = 2000;
  script_.reserved_bytes = 4000;
  script_.fault = Fault::kSegfault;
  const PlayedRank played = play();
  EXPECT_EQ(played.end.evidence.kind, EvidenceKind::kDeviceOutOfMemory);
  EXPECT_EQ(played.end.evidence.phase, Phase::kWarmup);
  EXPECT_EQ(played.end.evidence.oom_requested_bytes, 1500);
  EXPECT_EQ(played.end.evidence.oom_allocated_bytes, 500);
  EXPECT_EQ(played.end.evidence.oom_reserved_bytes, 1000);
  EXPECT_EQ(played.end.evidence.oom_limit_bytes, 1000);
  EXPECT_EQ(played.ends_after_s, 0.5);
}

TEST_F(PlayedRankTest, AHangBeforeTheFirstStepMeetsTheSetupLimit) {
  script_.fault = Fault::kHang;
  script_.fault_step = 1;
  const PlayedRank played = play();
  EXPECT_EQ(played.end.evidence.reason, Reason::kSetupLimit);
  EXPECT_EQ(played.ends_after_s, 7);
}

TEST_F(PlayedRankTest, TheTimeLimitEndsWhatWouldRunLonger) {
  limits_.time_s = 4;
  const PlayedRank played = play();
  EXPECT_EQ(played.end.evidence.reason, Reason::kTimeLimit);
  EXPECT_EQ(played.ends_after_s, 4);
  EXPECT_THAT(played.end.steps.time_s, testing::ElementsAre(1, 2));
}

TEST_F(PlayedRankTest, TheStallLimitGrowsWithTheMedianStep) {
  script_.step_times_s = {1, 1, 19, 1};
  EXPECT_EQ(play().end.evidence.kind, EvidenceKind::kCompleted)
      << "19 s are less than 20 times the median";
  script_.step_times_s = {1, 1, 21, 1};
  EXPECT_EQ(play().end.evidence.reason, Reason::kStall);
}

TEST_F(PlayedRankTest, ARankWhosePeerDiesWaitsInTheCollectiveForTheStallLimit) {
  const PlayedRank played = play(2);
  EXPECT_EQ(played.end.evidence.kind, EvidenceKind::kTimedOut);
  EXPECT_EQ(played.end.evidence.step, 1);
  EXPECT_EQ(dies_in_step(script_, 1000), std::nullopt);
  EXPECT_EQ(dies_in_step(script_, 10), 1);
}

}  // namespace
}  // namespace batchsweep::orchestrator
