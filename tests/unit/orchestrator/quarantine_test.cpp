// SPDX-License-Identifier: Apache-2.0
// Devices that take no more trials: what they must have done, what is said and recorded, and what
// the others then do.
#include "orchestrator/quarantine.hpp"

#include "tests/unit/orchestrator/recorded_core.hpp"

namespace batchsweep::orchestrator {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST(Quarantine, ThreeDifferentTrialsAreTooMany) {
  Quarantine quarantine;
  EXPECT_THAT(quarantine.crashed(7, {1}), IsEmpty());
  EXPECT_THAT(quarantine.crashed(7, {2}), IsEmpty());
  EXPECT_THAT(quarantine.crashed(7, {2}), IsEmpty()) << "the same trial counts once";
  EXPECT_THAT(quarantine.crashed(8, {3}), IsEmpty()) << "another device";
  EXPECT_EQ(quarantine.crashed(7, {3}), (std::vector<sweeps::TrialId>{{1}, {2}, {3}}));
}

TEST(Quarantine, ACompletedTrialClearsTheDeviceAndNoOther) {
  Quarantine quarantine;
  for (const std::size_t unit : {0, 1}) {
    (void)quarantine.crashed(unit, {1});
    (void)quarantine.crashed(unit, {2});
  }
  quarantine.completed(0);
  EXPECT_THAT(quarantine.crashed(0, {3}), IsEmpty());
  EXPECT_THAT(quarantine.crashed(1, {3}), Not(IsEmpty()));
}

class QuarantineTest : public CoreTest {
 protected:
  QuarantineTest() {
    options_.quarantine = true;
    sweep_.order = sweeps::Order::kGrid;
    axes({{"gpu", {"small"}}, {"model", {"resnet18"}}, {"batch_size", {"1", "2", "3", "4", "5"}}});
  }
  void crash(const std::string& trial, std::int64_t rank = 0, protocol::PeerId agent = 0) {
    ended(agent, trial, 1, rank, evidence(EvidenceKind::kCrashed, Reason::kSignal));
  }
  // One device has crashed b1, b2 and b3.
  void crash_three() {
    for (const char* trial : {"b1", "b2", "b3"}) {
      crash(trial);
      recorded(trial);
    }
  }
  [[nodiscard]] const std::string& message() const { return records_.back().record.trial.message; }
};

TEST_F(QuarantineTest, ADeviceThatCrashedThreeDifferentTrialsTakesNoMore) {
  start_core();
  join(0, "n1", 1);
  crash("b1");
  recorded("b1");
  crash("b2");
  recorded("b2");
  (void)commands();
  crash("b3");
  const std::vector<std::string> lines = commands();
  ASSERT_EQ(lines.size(), 2U) << "and b4 is not started";
  EXPECT_THAT(lines[0], HasSubstr("say small (n1-0) on n1 is out of service: 3 different trials "
                                  "crashed on it, none completed in between ("));
  EXPECT_THAT(lines[0], HasSubstr("--no-quarantine"));
  EXPECT_EQ(lines[1], "record b3:0:1 crashed signal rank 0");
  EXPECT_THAT(message(), HasSubstr("; device n1-0 is out of service from here on: 3 different"));
  for (const char* trial : {"b1", "b2", "b3"})
    EXPECT_THAT(message(), HasSubstr(sweeps::to_text(id(trial))));
  recorded("b3");
  EXPECT_EQ(core_->status(now_)["devices"][0]["state"], "out of service");
  EXPECT_THAT(core_->status(now_)["devices"][0]["why"].get<std::string>(),
              HasSubstr("3 different"));
  EXPECT_TRUE(core_->finished());
  EXPECT_TRUE(core_->work_left()) << "the next start may use it again";
}

TEST_F(QuarantineTest, TheOtherDevicesGoOn) {
  start_core();
  join(0, "n1", 1);
  join(1, "n2", 1);
  // b2 runs on n2 all the while.
  crash("b1");
  crash("b3");
  (void)commands();
  crash("b4");
  EXPECT_THAT(commands(), Contains(HasSubstr("n1-0) on n1 is out of service")));
  completed(1, "b2");
  EXPECT_THAT(commands(), ElementsAre("record b2:0:1 completed, final", "started b5:0:1",
                                      "to 1: start b5:0:1 0>0"));
}

TEST_F(QuarantineTest, ACompletedTrialInBetweenClearsTheDevice) {
  start_core();
  join(0, "n1", 1);
  crash("b1");
  crash("b2");
  completed(0, "b3");
  crash("b4");
  EXPECT_THAT(commands(), Contains("to 0: start b5:0:1 0>0"));
}

TEST_F(QuarantineTest, OnlyCrashesCount) {
  start_core();
  join(0, "n1", 1);
  ended(0, "b1", 1, 0, evidence(EvidenceKind::kDeviceOutOfMemory));
  ended(0, "b2", 1, 0, evidence(EvidenceKind::kFailed, Reason::kException));
  ended(0, "b3", 1, 0, evidence(EvidenceKind::kTimedOut, Reason::kStall));
  ended(0, "b4", 1, 0, evidence(EvidenceKind::kDiverged));
  EXPECT_THAT(commands(), Contains("to 0: start b5:0:1 0>0"));
}

TEST_F(QuarantineTest, WhereNobodyWantsItEveryDeviceGoesOn) {
  options_.quarantine = false;
  start_core();
  join(0, "n1", 1);
  crash_three();
  EXPECT_THAT(commands(), Contains("to 0: start b4:0:1 0>0"));
}

TEST_F(QuarantineTest, OnlyTheGuiltyRanksDeviceIsTaken) {
  axes({{"gpu", {"small"}},
        {"model", {"resnet18"}},
        {"world_size", {"2"}},
        {"batch_size", {"1", "2", "3", "4"}}});
  start_core();
  join(0, "n1", 3);
  for (const char* trial : {"b1x2", "b2x2", "b3x2"}) {
    crash(trial, 1);
    ended(0, trial, 1, 0, evidence(EvidenceKind::kKilled));
  }
  const std::vector<std::string> lines = commands();
  EXPECT_THAT(lines, Contains(HasSubstr("say small (n1-1) on n1 is out of service")));
  EXPECT_THAT(lines, Contains("to 0: start b4x2:0:1 0>0 1>2"));
}

TEST_F(QuarantineTest, ADeviceThatIsNoLongerWhatItWasIsTakenWhateverIsWanted) {
  options_.quarantine = false;
  start_core();
  join(0, "n1", 2);
  (void)commands();
  ended(0, "b1", 1, 0, evidence(EvidenceKind::kSkipped, Reason::kDeviceAbsent));
  EXPECT_THAT(commands(), ElementsAre("say small (n1-0) on n1 is out of service: ",
                                      "record b1:0:1 skipped device_absent rank 0"));
}

TEST_F(CoreTest, TwoHostsThatSeeTheSameGpuDoNotBothUseIt) {
  options_.agents_expected = 2;
  start_core();
  join(0, "n1", 0, {device(0, "small", "GPU-1")});
  join(1, "n2", 0, {device(0, "small", "GPU-1")});
  EXPECT_THAT(commands(), ElementsAre("to 0: welcome", "to 1: welcome without 0",
                                      "say agent 1 on n2 rests: a lower rank owns all its devices",
                                      "started b8:0:1", "to 0: start b8:0:1 0>0"));
}

}  // namespace
}  // namespace batchsweep::orchestrator
