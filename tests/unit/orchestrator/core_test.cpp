// SPDX-License-Identifier: Apache-2.0
#include "orchestrator/core.hpp"

#include "tests/unit/orchestrator/recorded_core.hpp"

namespace batchsweep::orchestrator {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST_F(CoreTest, RunsOneTrialAfterTheOtherOnOneDeviceAndEnds) {
  start_core();
  EXPECT_FALSE(core_->finished());
  join(0, "n1", 1);
  EXPECT_THAT(commands(), ElementsAre("to 0: welcome", "started b8:0:1", "to 0: start b8:0:1 0>0"));
  completed(0, "b8");
  EXPECT_THAT(commands(), ElementsAre("record b8:0:1 completed, final", "started b16:0:1",
                                      "to 0: start b16:0:1 0>0"));
  recorded("b8");
  completed(0, "b16");
  EXPECT_THAT(commands(), ElementsAre("record b16:0:1 completed, final"));
  EXPECT_FALSE(core_->finished()) << "the last record is not durable yet";
  EXPECT_TRUE(core_->work_left());
  recorded("b16");
  EXPECT_TRUE(core_->finished());
  EXPECT_FALSE(core_->work_left());
}

TEST_F(CoreTest, CountsATrialAsDoneOnlyWhenItsRecordIsDurable) {
  start_core();
  join(0, "n1", 1);
  completed(0, "b8");
  EXPECT_EQ(core_->progress().done, 0);
  recorded("b8");
  EXPECT_EQ(core_->progress().done, 1);
  EXPECT_EQ(core_->progress().total, 2);
  EXPECT_EQ(core_->progress().running, 1);
  (void)commands();
}

TEST_F(CoreTest, WaitsUntilAllAgentsHaveJoinedAndGivesADeviceToTheLowestRankThatSeesIt) {
  options_.agents_expected = 3;
  start_core();
  join(2, "n1", 2);
  join(1, "n1", 1);
  EXPECT_THAT(commands(), IsEmpty());
  join(0, "n2", 0);
  EXPECT_THAT(commands(),
              ElementsAre("to 0: welcome", "say agent 0 on n2 rests: it offers no device",
                          "to 1: welcome", "to 2: welcome without 0", "started b8:0:1",
                          "to 1: start b8:0:1 0>0", "started b16:0:1", "to 2: start b16:0:1 0>1"));
}

TEST_F(CoreTest, SaysWhenARankIsLeftWithoutADevice) {
  options_.agents_expected = 2;
  axes({{"gpu", {"small"}}, {"model", {"resnet18"}}, {"batch_size", {"8"}}});
  start_core();
  join(0, "n1", 1);
  join(1, "n1", 1);
  EXPECT_THAT(commands(), ElementsAre("to 0: welcome", "to 1: welcome without 0",
                                      "say agent 1 on n1 rests: a lower rank owns all its devices",
                                      "started b8:0:1", "to 0: start b8:0:1 0>0"));
}

TEST_F(CoreTest, GoesOnWithoutAgentsThatDoNotRegisterInTime) {
  options_.agents_expected = 2;
  start_core();
  join(0, "n1", 1);
  tick(9);
  EXPECT_THAT(commands(), IsEmpty());
  tick(1);
  EXPECT_THAT(commands(),
              ElementsAre("say 1 of 2 agents have registered within 10 s: going on with these",
                          "to 0: welcome", "started b8:0:1", "to 0: start b8:0:1 0>0"));
  join(1, "n2", 1);
  EXPECT_THAT(commands(),
              ElementsAre("to 1: welcome", "started b16:0:1", "to 1: start b16:0:1 0>0"));
}

TEST_F(CoreTest, RefusesAnAgentOfAnotherBuildByName) {
  options_.build_id = "aaa";
  start_core();
  protocol::Register registration;
  registration.build_id = "bbb";
  registration.host.hostname = "n1";
  feed(AgentJoined{0, registration});
  EXPECT_THAT(
      commands(),
      ElementsAre(
          "say agent 0 on n1 is refused: its build is bbb, the orchestrator's aaa: start the same "
          "batchsweep on all hosts",
          "to 0: shutdown"));
  registration.build_id = "aaa";
  registration.protocol_version = 99;
  feed(AgentJoined{1, registration});
  EXPECT_THAT(
      commands(),
      ElementsAre(
          "say agent 1 on n1 is refused: it speaks protocol 99, the orchestrator 4: start the same "
          "batchsweep on all hosts",
          "to 1: shutdown"));
}

TEST_F(CoreTest, RefusesAnAgentThatSeesAnotherSweepFile) {
  options_.sweep_hash = "aaa";
  options_.agents_expected = 3;
  start_core();
  protocol::Register registration;
  registration.host.hostname = "n1";
  registration.sweep_hash = "bbb";
  feed(AgentJoined{1, registration});
  EXPECT_THAT(commands(),
              ElementsAre("say agent 1 on n1 is refused: the sweep file that it sees differs from "
                          "the orchestrator's: give all hosts the same",
                          "to 1: shutdown"));
  registration.sweep_hash = "aaa";
  feed(AgentJoined{0, registration});
  registration.sweep_hash = "";
  registration.host.hostname = "n2";
  feed(AgentJoined{2, registration});
  EXPECT_THAT(commands(), testing::IsSupersetOf({"to 0: welcome", "to 2: welcome"}))
      << "a host that sees no file may serve, and nobody waits for the refused one";
}

TEST_F(CoreTest, RunsEverythingOnceBeforeAnythingIsRepeated) {
  sweep_.repeats = 2;
  sweep_.order = sweeps::Order::kGrid;
  start_core();
  join(0, "n1", 1);
  completed(0, "b8");
  completed(0, "b16");
  completed(0, "b8", 1, 0, 1);
  EXPECT_THAT(
      commands(),
      ElementsAre("to 0: welcome", "started b8:0:1", "to 0: start b8:0:1 0>0",
                  "record b8:0:1 completed, final", "started b16:0:1", "to 0: start b16:0:1 0>0",
                  "record b16:0:1 completed, final", "started b8:1:1", "to 0: start b8:1:1 0>0",
                  "record b8:1:1 completed, final", "started b16:1:1", "to 0: start b16:1:1 0>0"));
}

TEST_F(CoreTest, RunsACrashedTrialAgainBehindTheOthersUntilItsBudgetIsUsedUp) {
  sweep_.limits.retries = 1;
  start_core();
  join(0, "n1", 1);
  (void)commands();
  ended(0, "b8", 1, 0, evidence(EvidenceKind::kCrashed, Reason::kSignal));
  EXPECT_THAT(commands(), ElementsAre("record b8:0:1 crashed signal rank 0", "started b16:0:1",
                                      "to 0: start b16:0:1 0>0"));
  recorded("b8");
  completed(0, "b16");
  recorded("b16");
  EXPECT_THAT(commands(), ElementsAre("record b16:0:1 completed, final", "started b8:0:2",
                                      "to 0: start b8:0:2 0>0"));
  ended(0, "b8", 2, 0, evidence(EvidenceKind::kCrashed, Reason::kSignal));
  EXPECT_THAT(commands(), ElementsAre("record b8:0:2 crashed signal rank 0, final"));
  recorded("b8", 2);
  EXPECT_TRUE(core_->finished());
  EXPECT_EQ(core_->progress().failures, 1);
}

TEST_F(CoreTest, NeverRunsAgainWhatIsFinalAtOnce) {
  axes({{"gpu", {"small"}},
        {"model", {"resnet18"}},
        {"batch_size", {"1", "2", "3", "4", "5", "6", "7"}}});
  start_core();
  join(0, "n1", 7);
  (void)commands();
  ended(0, "b1", 1, 0, evidence(EvidenceKind::kDeviceOutOfMemory));
  ended(0, "b2", 1, 0, evidence(EvidenceKind::kHostOutOfMemory));
  ended(0, "b3", 1, 0, evidence(EvidenceKind::kFailed, Reason::kException));
  ended(0, "b4", 1, 0, evidence(EvidenceKind::kTimedOut, Reason::kStall));
  ended(0, "b5", 1, 0, evidence(EvidenceKind::kDiverged));
  ended(0, "b6", 1, 0, evidence(EvidenceKind::kSkipped, Reason::kUnsupported));
  completed(0, "b7");
  EXPECT_THAT(commands(), ElementsAre("record b1:0:1 out_of_memory rank 0, final",
                                      "record b2:0:1 host_out_of_memory rank 0, final",
                                      "record b3:0:1 failed exception rank 0, final",
                                      "record b4:0:1 timed_out stall rank 0, final",
                                      "record b5:0:1 diverged rank 0, final",
                                      "record b6:0:1 skipped unsupported rank 0, final",
                                      "record b7:0:1 completed, final"));
  for (const char* trial : {"b1", "b2", "b3", "b4", "b5", "b6", "b7"}) recorded(trial);
  EXPECT_TRUE(core_->finished());
  EXPECT_EQ(core_->progress().failures, 4);
}

TEST_F(CoreTest, RelaunchesALaunchFaultThreeTimesInsideTheAttempt) {
  axes({{"gpu", {"small"}}, {"model", {"resnet18"}}, {"batch_size", {"8"}}});
  start_core();
  join(0, "n1", 1);
  (void)commands();
  for (int time = 0; time < 3; ++time) {
    ended(0, "b8", 1, 0, evidence(EvidenceKind::kFailed, Reason::kLaunch, Phase::kLaunch));
    EXPECT_THAT(commands(), ElementsAre("to 0: start b8:0:1 0>0"));
  }
  ended(0, "b8", 1, 0, evidence(EvidenceKind::kFailed, Reason::kLaunch, Phase::kLaunch));
  EXPECT_THAT(commands(), ElementsAre("record b8:0:1 failed launch rank 0, final"));
}

TEST_F(CoreTest, KillsTheOtherRanksAtOnceAndNamesTheGuiltyOne) {
  options_.agents_expected = 2;
  sweep_.rehearsal.emplace();  // ranks over two hosts
  sweep_.rehearsal->rules.emplace_back();
  axes({{"gpu", {"small"}}, {"model", {"resnet18"}}, {"world_size", {"4"}}, {"batch_size", {"8"}}});
  start_core();
  join(0, "n1", 2);
  join(1, "n2", 2);
  EXPECT_THAT(commands(),
              ElementsAre("to 0: welcome", "to 1: welcome", "started b8x4:0:1",
                          "to 0: start b8x4:0:1 0>0 1>1", "to 1: start b8x4:0:1 2>0 3>1"));
  ended(1, "b8x4", 1, 2, evidence(EvidenceKind::kDeviceOutOfMemory));
  EXPECT_THAT(commands(), ElementsAre("to 0: kill b8x4:0:1", "to 1: kill b8x4:0:1"));
  ended(1, "b8x4", 1, 3, evidence(EvidenceKind::kLostPeer));
  ended(0, "b8x4", 1, 0, evidence(EvidenceKind::kCrashed, Reason::kSignal));
  EXPECT_THAT(commands(), IsEmpty()) << "the verdict waits for all ranks";
  ended(0, "b8x4", 1, 1, evidence(EvidenceKind::kKilled));
  EXPECT_THAT(commands(), ElementsAre("record b8x4:0:1 out_of_memory rank 2, final"));
}

TEST_F(CoreTest, ASecondEndOfTheSameRankAndAnEndFromAnotherAgentCountForNothing) {
  options_.agents_expected = 2;
  axes({{"gpu", {"small"}}, {"model", {"resnet18"}}, {"world_size", {"2"}}, {"batch_size", {"8"}}});
  start_core();
  join(0, "n1", 2);
  join(1, "n2", 0);
  (void)commands();
  completed(0, "b8x2", 1, 0);
  ended(0, "b8x2", 1, 0, evidence(EvidenceKind::kCrashed));
  completed(1, "b8x2", 1, 1);
  completed(0, "b8x2", 1, 7);
  completed(0, "b8x2", 9, 1);
  EXPECT_THAT(commands(), IsEmpty());
  completed(0, "b8x2", 1, 1);
  EXPECT_THAT(commands(), ElementsAre("record b8x2:0:1 completed, final"));
}

TEST_F(CoreTest, LeadsTheOtherRanksToWhereRankZeroWaits) {
  options_.agents_expected = 3;
  axes({{"gpu", {"small"}}, {"model", {"resnet18"}}, {"world_size", {"4"}}, {"batch_size", {"8"}}});
  start_core();
  join(0, "n1", 2);
  join(1, "n2", 2);
  join(2, "n3", 0);
  (void)commands();
  const protocol::RendezvousOpened opened{key("b8x4", 1), {"10.0.0.1", 40000}};
  say(1, opened);
  say(2, opened);
  EXPECT_THAT(commands(), IsEmpty()) << "only rank 0's agent can say so";
  say(0, opened);
  EXPECT_THAT(commands(), ElementsAre("to 0: meet b8x4:0:1 at 10.0.0.1:40000",
                                      "to 1: meet b8x4:0:1 at 10.0.0.1:40000"));
}

TEST_F(CoreTest, JudgesAfterTwoSecondsAndKeepsTheDeviceOfAProcessThatWillNotDie) {
  axes({{"gpu", {"small"}},
        {"model", {"resnet18"}},
        {"world_size", {"2"}},
        {"batch_size", {"8", "16"}}});
  start_core();
  join(0, "n1", 2);
  ended(0, "b8x2", 1, 0, evidence(EvidenceKind::kTimedOut, Reason::kStall));
  EXPECT_THAT(commands(), ElementsAre("to 0: welcome", "started b8x2:0:1",
                                      "to 0: start b8x2:0:1 0>0 1>1", "to 0: kill b8x2:0:1"));
  pass(1.5, {0});
  EXPECT_THAT(commands(), IsEmpty());
  pass(0.5, {0});
  EXPECT_THAT(commands(), ElementsAre("record b8x2:0:1 timed_out stall rank 0, final"));
  recorded("b8x2");
  EXPECT_FALSE(core_->finished()) << "the other trial needs the device that may come back";
  EXPECT_EQ(core_->status(now_)["devices"][1]["state"], "stuck");
  ended(0, "b8x2", 1, 1, evidence(EvidenceKind::kKilled));
  EXPECT_THAT(commands(), ElementsAre("started b16x2:0:1", "to 0: start b16x2:0:1 0>0 1>1"));
}

TEST_F(CoreTest, EndsWithWorkLeftWhenAStuckDeviceDoesNotComeBackWithinAMinute) {
  axes({{"gpu", {"small"}},
        {"model", {"resnet18"}},
        {"world_size", {"2"}},
        {"batch_size", {"8", "16"}}});
  start_core();
  join(0, "n1", 2);
  ended(0, "b8x2", 1, 0, evidence(EvidenceKind::kTimedOut, Reason::kStall));
  pass(2, {0});
  recorded("b8x2");
  pass(59, {0});
  EXPECT_FALSE(core_->finished());
  pass(2, {0});
  EXPECT_TRUE(core_->finished());
  EXPECT_TRUE(core_->work_left());
  (void)commands();
}

TEST_F(CoreTest, TakesADeviceThatIsNotCleanOutOfServiceAndRunsTheTrialElsewhere) {
  axes({{"gpu", {"small"}}, {"model", {"resnet18"}}, {"batch_size", {"8"}}});
  start_core();
  join(0, "n1", 2);
  (void)commands();
  ended(0, "b8", 1, 0, evidence(EvidenceKind::kSkipped, Reason::kDeviceNotClean));
  recorded("b8");
  EXPECT_THAT(commands(), ElementsAre("say small (n1-0) on n1 is out of service: ",
                                      "record b8:0:1 skipped device_not_clean rank 0",
                                      "started b8:0:2", "to 0: start b8:0:2 0>1"));
  EXPECT_EQ(core_->progress().devices, 1);
}

TEST_F(CoreTest, ADrainStartsNothingNewAndLetsWhatRunsEnd) {
  start_core();
  join(0, "n1", 1);
  (void)commands();
  feed(StopRequested{StopMode::kDrain});
  EXPECT_FALSE(core_->finished());
  completed(0, "b8");
  EXPECT_THAT(commands(), ElementsAre("record b8:0:1 completed, final"));
  recorded("b8");
  EXPECT_TRUE(core_->finished());
  EXPECT_TRUE(core_->work_left());
}

TEST_F(CoreTest, AStopKillsWhatRunsAndRecordsItAsInterrupted) {
  start_core();
  join(0, "n1", 2);
  (void)commands();
  feed(StopRequested{StopMode::kDrain});
  feed(StopRequested{StopMode::kNow});
  EXPECT_THAT(commands(), ElementsAre("to 0: kill b8:0:1", "to 0: kill b16:0:1"));
  ended(0, "b8", 1, 0, evidence(EvidenceKind::kKilled, Reason::kStopped));
  EXPECT_THAT(commands(), ElementsAre("record b8:0:1 interrupted stopped rank 0"));
  tick(0.3);
  EXPECT_THAT(commands(), ElementsAre("record b16:0:1 interrupted stopped rank 0"))
      << "a stop waits for nobody";
  recorded("b8");
  recorded("b16");
  EXPECT_TRUE(core_->finished());
  EXPECT_TRUE(core_->work_left());
  EXPECT_EQ(core_->progress().done, 0);
}

TEST_F(CoreTest, WhatWasAlreadyOverWhenTheStopCameIsRecordedAsItEnded) {
  start_core();
  join(0, "n1", 2);
  feed(StopRequested{StopMode::kNow});
  (void)commands();
  completed(0, "b8");
  ended(0, "b16", 1, 0, evidence(EvidenceKind::kCrashed, Reason::kSignal));
  EXPECT_THAT(commands(), ElementsAre("record b8:0:1 completed, final",
                                      "record b16:0:1 crashed signal rank 0"));
}

TEST_F(CoreTest, BeginsAtMostMaxTrials) {
  options_.max_trials = 1;
  start_core();
  join(0, "n1", 2);
  EXPECT_THAT(commands(), ElementsAre("to 0: welcome", "started b8:0:1", "to 0: start b8:0:1 0>0"));
  completed(0, "b8");
  recorded("b8");
  EXPECT_THAT(commands(), ElementsAre("record b8:0:1 completed, final"));
  EXPECT_TRUE(core_->finished());
  EXPECT_TRUE(core_->work_left());
}

TEST_F(CoreTest, StartsNothingThatWouldNotEndBeforeTheTimeIsUpAndThenStops) {
  sweep_.limits.time_s = 100;
  options_.hard_end = Instant{} + seconds(110);
  axes({{"gpu", {"small"}}, {"model", {"resnet18"}}, {"batch_size", {"1", "2", "3", "4"}}});
  start_core();
  join(0, "n1", 1);
  now_ += seconds(10);
  completed(0, "b1");
  now_ += seconds(12);
  completed(0, "b4");
  EXPECT_THAT(commands(), ElementsAre("to 0: welcome", "started b1:0:1", "to 0: start b1:0:1 0>0",
                                      "record b1:0:1 completed, final", "started b4:0:1",
                                      "to 0: start b4:0:1 0>0", "record b4:0:1 completed, final",
                                      "started b3:0:1", "to 0: start b3:0:1 0>0"))
      << "the smallest first, then the longest: by b1 at most 40 s, so twice that fits into 100 s";
  now_ += seconds(58);
  completed(0, "b3");
  EXPECT_THAT(commands(), ElementsAre("record b3:0:1 completed, final"))
      << "b2 is expected to take 24 s, and 30 s are left";
  EXPECT_THAT(
      std::string(core_->status(now_)["next"][0]["why"]),
      testing::StartsWith("would not surely end in time: expected 24 s, and 30 s are left"));
  for (const char* trial : {"b1", "b4", "b3"}) recorded(trial);
  EXPECT_TRUE(core_->finished());
  EXPECT_TRUE(core_->work_left());
}

TEST_F(CoreTest, KillsWhatRunsWhenTheTimeIsUp) {
  sweep_.limits.time_s = 100;
  options_.hard_end = Instant{} + seconds(110);
  axes({{"gpu", {"small"}}, {"model", {"resnet18"}}, {"batch_size", {"8"}}});
  start_core();
  join(0, "n1", 1);
  (void)commands();
  pass(109.5, {0});
  EXPECT_THAT(commands(), IsEmpty());
  pass(0.5, {0});
  EXPECT_THAT(commands(),
              ElementsAre("say the time is up: what runs is stopped", "to 0: kill b8:0:1"));
}

TEST_F(CoreTest, ASweepThatIsDoneEndsWithoutWaitingForAnybody) {
  start_core();
  std::vector<results::RecordedState> recorded(2);
  recorded[0] = {.trial = id("b8"), .attempts = 1, .outcome = Outcome::kCompleted, .has_row = true};
  recorded[1] = {.trial = id("b16"),
                 .attempts = 3,
                 .executions = 3,
                 .outcome = Outcome::kCrashed,
                 .reason = Reason::kSignal,
                 .has_row = true};
  start_core(recorded);
  EXPECT_TRUE(core_->finished());
  EXPECT_FALSE(core_->work_left());
  EXPECT_EQ(core_->progress().done, 2);
  EXPECT_EQ(core_->progress().failures, 1) << "also when nothing ran now";
}

TEST_F(CoreTest, GoesOnWhereTheRecordEndsAndNeverUsesANumberTwice) {
  start_core();
  std::vector<results::RecordedState> recorded(2);
  recorded[0] = {.trial = id("b8"), .attempts = 1, .outcome = Outcome::kCompleted, .has_row = true};
  recorded[1] = {.trial = id("b16"),
                 .attempts = 4,
                 .executions = 2,
                 .outcome = Outcome::kCrashed,
                 .has_row = true};
  start_core(recorded);
  join(0, "n1", 1);
  EXPECT_THAT(commands(),
              ElementsAre("to 0: welcome", "started b16:0:5", "to 0: start b16:0:5 0>0"));
  ended(0, "b16", 5, 0, evidence(EvidenceKind::kCrashed, Reason::kExitCode));
  EXPECT_THAT(commands(), ElementsAre("record b16:0:5 crashed exit_code rank 0, final"))
      << "the third execution of three";
}

TEST_F(CoreTest, ATrialThatWasOpenAtFiveStartsGoesToTheEndOfTheOrder) {
  start_core();
  std::vector<results::RecordedState> recorded(1);
  recorded[0] = {.trial = id("b8"), .attempts = 5, .open_starts = 5};
  start_core(recorded);
  join(0, "n1", 1);
  completed(0, "b16");
  EXPECT_THAT(commands(), ElementsAre("to 0: welcome", "started b16:0:1", "to 0: start b16:0:1 0>0",
                                      "record b16:0:1 completed, final", "started b8:0:6",
                                      "to 0: start b8:0:6 0>0"));
}

}  // namespace
}  // namespace batchsweep::orchestrator
