// SPDX-License-Identifier: Apache-2.0
// Leases, lost agents, and trials that no device here can hold.
#include <map>

#include "tests/unit/orchestrator/recorded_core.hpp"

namespace batchsweep::orchestrator {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class LostAgentTest : public CoreTest {
 protected:
  // Two hosts with one device each; agent 1 dies with b16 on it.
  void lose_agent_1() {
    options_.agents_expected = 2;
    start_core();
    join(0, "n1", 1);
    join(1, "n2", 1);
    EXPECT_THAT(commands(), ElementsAre("to 0: welcome", "to 1: welcome", "started b8:0:1",
                                        "to 0: start b8:0:1 0>0", "started b16:0:1",
                                        "to 1: start b16:0:1 0>0"));
    pass(3, {0});
    EXPECT_THAT(commands(), IsEmpty()) << "silent for one lease, not longer";
    pass(0.5, {0});
    EXPECT_THAT(commands(),
                ElementsAre("say agent 1 on n2 is lost: nothing was heard of it for 3 s",
                            "give up 1", "record b16:0:1 lost agent_lost rank 0"));
  }
};

TEST_F(LostAgentTest, ItsTrialRunsAgainElsewhere) {
  lose_agent_1();
  recorded("b16");
  completed(0, "b8");
  EXPECT_THAT(commands(), ElementsAre("record b8:0:1 completed, final", "started b16:0:2",
                                      "to 0: start b16:0:2 0>0"));
}

TEST_F(LostAgentTest, WhenItSpeaksAgainItIsToldToRest) {
  lose_agent_1();
  say(1, protocol::Beat{});
  EXPECT_THAT(commands(), ElementsAre("to 1: shutdown"));
  join(1, "n2", 1);
  EXPECT_THAT(commands(), ElementsAre("to 1: shutdown"));
}

TEST_F(LostAgentTest, ALateEndOfItsTrialIsRecordedButChangesNothing) {
  lose_agent_1();
  recorded("b16");
  completed(1, "b16");
  EXPECT_THAT(commands(), ElementsAre("to 1: shutdown", "record b16:0:1 completed"));
  EXPECT_EQ(records_.back().record.trial.message, "came after its agent was given up: ");
  completed(1, "b16");
  EXPECT_THAT(commands(), ElementsAre("to 1: shutdown")) << "once only";
  recorded("b16");
  EXPECT_EQ(core_->progress().done, 0);
  completed(0, "b8");
  EXPECT_THAT(commands(), ElementsAre("record b8:0:1 completed, final", "started b16:0:2",
                                      "to 0: start b16:0:2 0>0"));
}

TEST_F(LostAgentTest, TrialsThatOnlyItCouldRunAreWorkLeft) {
  options_.agents_expected = 2;
  axes({{"gpu", {"big"}}, {"model", {"resnet18"}}, {"batch_size", {"8", "16"}}});
  start_core();
  join(0, "n1", 1);
  join(1, "n2", 0, {device(0, "big", "b")});
  pass(3.5, {0});
  recorded("b8@big");
  (void)commands();
  EXPECT_TRUE(core_->finished());
  EXPECT_TRUE(core_->work_left());
}

TEST_F(CoreTest, NobodyIsJudgedForATimeInWhichTheOrchestratorItselfSlept) {
  start_core();
  join(0, "n1", 2);
  tick(0.1);
  tick(3600);
  EXPECT_THAT(commands(), ElementsAre("to 0: welcome", "started b8:0:1", "to 0: start b8:0:1 0>0",
                                      "started b16:0:1", "to 0: start b16:0:1 0>1", "to 0: beat"));
  pass(3, {});
  EXPECT_THAT(commands(), IsEmpty()) << "a new lease for all";
  pass(0.5, {});
  EXPECT_THAT(commands(), ElementsAre("say agent 0 on n1 is lost: nothing was heard of it for 3 s",
                                      "give up 0", "record b8:0:1 lost agent_lost rank 0",
                                      "record b16:0:1 lost agent_lost rank 0"));
}

TEST_F(CoreTest, BeatsToEveryAgentOnceASecond) {
  options_.agents_expected = 2;
  axes({{"gpu", {"small"}}, {"model", {"resnet18"}}, {"batch_size", {"8"}}});
  start_core();
  join(0, "n1", 1);
  join(1, "n2", 1);
  (void)commands();
  tick(0.9);
  EXPECT_THAT(commands(), IsEmpty());
  tick(0.1);
  EXPECT_THAT(commands(), ElementsAre("to 0: beat", "to 1: beat"));
  tick(0.9);
  EXPECT_THAT(commands(), IsEmpty());
}

TEST_F(CoreTest, ALostAgentMakesTheVerdictLostWhateverItsPeersSawOfIt) {
  options_.agents_expected = 2;
  sweep_.rehearsal.emplace();
  sweep_.rehearsal->rules.emplace_back();
  axes({{"gpu", {"small"}}, {"model", {"resnet18"}}, {"world_size", {"2"}}, {"batch_size", {"8"}}});
  start_core();
  join(0, "n1", 1);
  join(1, "n2", 1);
  (void)commands();
  pass(2, {0});
  ended(0, "b8x2", 1, 0, evidence(EvidenceKind::kLostPeer));
  EXPECT_THAT(commands(), ElementsAre("to 1: kill b8x2:0:1"));
  pass(1.5, {0});
  EXPECT_THAT(commands(), ElementsAre("say agent 1 on n2 is lost: nothing was heard of it for 3 s",
                                      "give up 1", "record b8x2:0:1 lost agent_lost rank 1"));
}

TEST_F(CoreTest, ALostPeerIsNoVerdictWhileThePeersAgentIsSilent) {
  options_.agents_expected = 2;
  sweep_.rehearsal.emplace();
  sweep_.rehearsal->rules.emplace_back();
  axes({{"gpu", {"small"}}, {"model", {"resnet18"}}, {"world_size", {"2"}}, {"batch_size", {"8"}}});
  start_core();
  join(0, "n1", 1);
  join(1, "n2", 1);
  (void)commands();
  pass(1, {0});
  ended(0, "b8x2", 1, 0, evidence(EvidenceKind::kLostPeer));
  EXPECT_THAT(commands(), ElementsAre("to 1: kill b8x2:0:1"));
  pass(2, {0});
  EXPECT_THAT(commands(), IsEmpty())
      << "two seconds are over, but whether the agent lives is not known yet";
  pass(0.5, {0});
  EXPECT_THAT(commands(), ElementsAre("say agent 1 on n2 is lost: nothing was heard of it for 3 s",
                                      "give up 1", "record b8x2:0:1 lost agent_lost rank 1"));
}

TEST_F(CoreTest, AnAgentThatKilledItsTrialForWantOfAnOrchestratorLostIt) {
  axes({{"gpu", {"small"}}, {"model", {"resnet18"}}, {"batch_size", {"8"}}});
  start_core();
  join(0, "n1", 1);
  (void)commands();
  ended(0, "b8", 1, 0, evidence(EvidenceKind::kKilled, Reason::kStopped));
  EXPECT_THAT(commands(), ElementsAre("record b8:0:1 lost agent_lost rank 0"));
}

TEST_F(CoreTest, TypesThatNobodyHasAreSaidOnceAndSkippedWithoutAnAttempt) {
  axes({{"gpu", {"big", "small"}}, {"model", {"resnet18"}}, {"batch_size", {"8", "16"}}});
  start_core();
  join(0, "n1", 1);
  EXPECT_THAT(commands(), ElementsAre("to 0: welcome",
                                      "say no device of type big here: 2 trials skipped "
                                      "(device_absent; they run where there is one)",
                                      "record b8@big:0:0 skipped device_absent",
                                      "record b16@big:0:0 skipped device_absent", "started b8:0:1",
                                      "to 0: start b8:0:1 0>0"));
  EXPECT_EQ(core_->progress().absent, 2);
  recorded("b8@big", 0);
  recorded("b16@big", 0);
  completed(0, "b8");
  completed(0, "b16");
  recorded("b8");
  recorded("b16");
  (void)commands();
  EXPECT_TRUE(core_->finished());
  EXPECT_FALSE(core_->work_left()) << "this machine could run nothing more";
}

TEST_F(CoreTest, ASkippedTrialIsNotRecordedAgainAndRunsWhereItsTypeIs) {
  axes({{"gpu", {"big"}}, {"model", {"resnet18"}}, {"batch_size", {"8"}}});
  start_core();
  std::vector<results::RecordedState> recorded(1);
  recorded[0] = {.trial = id("b8@big"),
                 .outcome = Outcome::kSkipped,
                 .reason = Reason::kDeviceAbsent,
                 .has_row = true};
  start_core(recorded);
  join(0, "n1", 1);
  EXPECT_THAT(commands(), ElementsAre("to 0: welcome",
                                      "say no device of type big here: 1 trial skipped "
                                      "(device_absent; they run where there is one)"));
  EXPECT_TRUE(core_->finished());
  join(1, "n2", 0, {device(0, "big", "b")});
  EXPECT_THAT(commands(),
              ElementsAre("to 1: welcome", "started b8@big:0:1", "to 1: start b8@big:0:1 0>0"));
}

TEST_F(CoreTest, AWorldThatNoHostHoldsRunsOverSeveral) {
  options_.agents_expected = 2;
  axes({{"gpu", {"small"}}, {"model", {"resnet18"}}, {"world_size", {"2"}}, {"batch_size", {"8"}}});
  start_core();
  join(0, "n1", 1);
  join(1, "n2", 1);
  EXPECT_THAT(commands(),
              ElementsAre("to 0: welcome", "to 1: welcome", "started b8x2:0:1",
                          "to 0: start b8x2:0:1 0>0", "to 1: start b8x2:0:1 1>0"));
}

TEST_F(CoreTest, AWorldThatTheClusterDoesNotHoldIsSkipped) {
  options_.agents_expected = 2;
  axes({{"gpu", {"small"}}, {"model", {"resnet18"}}, {"world_size", {"3"}}, {"batch_size", {"8"}}});
  start_core();
  join(0, "n1", 1);
  join(1, "n2", 1);
  EXPECT_THAT(
      commands(),
      ElementsAre("to 0: welcome", "to 1: welcome",
                  "say 3 x small for one trial are more than this cluster can hold: 1 trial skipped "
                  "(device_absent; they run where there is one)",
                  "record b8x3:0:0 skipped device_absent"));
  EXPECT_FALSE(core_->finished());
  recorded("b8x3", 0);
  EXPECT_TRUE(core_->finished());
}

TEST_F(CoreTest, WhatACardCannotComputeIsSkippedForGoodBeforeAnythingStarts) {
  axes({{"gpu", {"V100 16GB SXM"}},
        {"model", {"resnet18"}},
        {"precision", {"bf16"}},
        {"batch_size", {"8"}}});
  start_core();
  join(0, "n1", 0, {device(0, "V100 16GB SXM", "v")});
  EXPECT_THAT(commands(), ElementsAre("to 0: welcome",
                                      "say V100 16GB SXM: bf16 needs compute capability 8.0, this "
                                      "card has 7.0: 1 trial skipped "
                                      "(unsupported)",
                                      "record b8@V100 16GB SXM:0:0 skipped unsupported, final"));
  recorded("b8@V100 16GB SXM", 0);
  EXPECT_TRUE(core_->finished());
  EXPECT_EQ(core_->progress().done, 1);
}

TEST_F(CoreTest, SlicesOfACardDoNotTrainTogether) {
  axes({{"gpu", {"small"}},
        {"model", {"resnet18"}},
        {"world_size", {"1", "2"}},
        {"batch_size", {"8"}}});
  start_core();
  join(0, "n1", 0, {device(0, "small", "MIG-1"), device(1, "small", "MIG-2")});
  EXPECT_THAT(
      commands(),
      ElementsAre("to 0: welcome",
                  "say small: slices of a card (MIG) cannot train together: 1 trial skipped "
                  "(unsupported)",
                  "record b8x2:0:0 skipped unsupported, final", "started b8:0:1",
                  "to 0: start b8:0:1 0>0"));
}

TEST_F(CoreTest, AMillionthAbsentTrialIsRecordedInPortions) {
  sweep_.repeats = 300;
  axes({{"gpu", {"big"}}, {"model", {"resnet18"}}, {"batch_size", {"8"}}});
  start_core();
  join(0, "n1", 1);
  EXPECT_EQ(records_.size(), 256u);
  for (int repeat = 0; repeat < 256; ++repeat) recorded("b8@big", 0, repeat);
  EXPECT_EQ(records_.size(), 300u);
  EXPECT_FALSE(core_->finished());
  for (int repeat = 256; repeat < 300; ++repeat) recorded("b8@big", 0, repeat);
  EXPECT_TRUE(core_->finished());
  (void)commands();
}

TEST_F(CoreTest, ViewsOnOnePhysicalDeviceAreUsedOneAtATime) {
  axes({{"gpu", {"small", "big"}}, {"model", {"resnet18"}}, {"batch_size", {"8"}}});
  start_core();
  join(0, "n1", 0, {device(0, "small", "card"), device(1, "big", "card")});
  EXPECT_THAT(commands(), ElementsAre("to 0: welcome", "started b8:0:1", "to 0: start b8:0:1 0>0"));
  completed(0, "b8");
  EXPECT_THAT(commands(), ElementsAre("record b8:0:1 completed, final", "started b8@big:0:1",
                                      "to 0: start b8@big:0:1 0>1"));
}

TEST_F(CoreTest, AnExclusiveTrialHasItsHostForItself) {
  sweep_.exclusive_host = true;
  sweep_.order = sweeps::Order::kGrid;
  options_.agents_expected = 2;
  axes({{"gpu", {"small"}}, {"model", {"resnet18"}}, {"batch_size", {"1", "2", "3"}}});
  start_core();
  join(0, "n1", 2);
  join(1, "n2", 2);
  EXPECT_THAT(commands(),
              ElementsAre("to 0: welcome", "to 1: welcome", "started b1:0:1",
                          "to 0: start b1:0:1 0>0", "started b2:0:1", "to 1: start b2:0:1 0>0"));
  completed(1, "b2");
  EXPECT_THAT(commands(), ElementsAre("record b2:0:1 completed, final", "started b3:0:1",
                                      "to 1: start b3:0:1 0>0"));
  completed(0, "b1");
  completed(1, "b3");
  EXPECT_EQ(records_.back().record.trial.neighbours_max, 0);
  (void)commands();
}

TEST_F(CoreTest, RecordsHowManyNeighboursATrialHadAtMost) {
  sweep_.order = sweeps::Order::kGrid;
  axes({{"gpu", {"small", "big"}},
        {"model", {"resnet18"}},
        {"world_size", {"1", "2"}},
        {"batch_size", {"8"}}});
  start_core();
  join(0, "n1", 1, {device(1, "big", "x"), device(2, "big", "y")});
  EXPECT_THAT(commands(),
              testing::IsSupersetOf({"to 0: start b8:0:1 0>0", "to 0: start b8@big:0:1 0>1"}));
  completed(0, "b8@big");
  EXPECT_THAT(commands(), testing::Contains("to 0: start b8x2@big:0:1 0>1 1>2"));
  completed(0, "b8x2@big", 1, 0);
  completed(0, "b8x2@big", 1, 1);
  completed(0, "b8");
  std::map<std::string, std::optional<double>> neighbours;
  for (const RecordAttempt& record : records_)
    neighbours[text(record.key)] = record.record.trial.neighbours_max;
  EXPECT_EQ(neighbours["b8:0:1"], 1);
  EXPECT_EQ(neighbours["b8@big:0:1"], 1);
  EXPECT_EQ(neighbours["b8x2@big:0:1"], 1);
  (void)commands();
}

TEST_F(CoreTest, TheMostNeighboursCountNotTheLast) {
  sweep_.order = sweeps::Order::kGrid;
  axes({{"gpu", {"small", "big"}}, {"model", {"resnet18"}}, {"batch_size", {"8", "16"}}});
  sweeps::GridBlock gang;
  gang.axes = {
      {"gpu", {"big"}}, {"model", {"resnet18"}}, {"world_size", {"2"}}, {"batch_size", {"8"}}};
  sweep_.grid.push_back(gang);
  start_core();
  join(0, "n1", 2, {device(2, "big", "x"), device(3, "big", "y")});
  (void)commands();
  for (const char* trial : {"b16", "b8@big", "b16@big"}) completed(0, trial);
  EXPECT_THAT(commands(), testing::Contains("to 0: start b8x2@big:0:1 0>2 1>3"))
      << "b8 has one neighbour now, and had three";
  completed(0, "b8");
  EXPECT_EQ(records_.back().record.trial.neighbours_max, 3);
  (void)commands();
}

TEST_F(CoreTest, NobodysSilenceIsJudgedWhileTheInboxIsNotEmpty) {
  options_.agents_expected = 2;
  start_core();
  join(0, "n1", 1);
  join(1, "n2", 1);
  for (int i = 0; i < 20; ++i) {
    now_ += seconds(0.5);
    say(0, protocol::Beat{});
    feed(Tick{.inbox_empty = false});
  }
  EXPECT_THAT(commands(), testing::Not(testing::Contains("give up 1")));
  tick(0.1);
  EXPECT_THAT(commands(), testing::Contains("give up 1"));
}

}  // namespace
}  // namespace batchsweep::orchestrator
