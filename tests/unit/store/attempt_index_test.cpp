// SPDX-License-Identifier: Apache-2.0
#include "results/store/attempt_index.hpp"

#include <gmock/gmock.h>

#include "store_fixtures.hpp"

namespace batchsweep::results {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Adds attempts of trial 1; their number is their sequence.
class AttemptIndexTest : public testing::Test {
 protected:
  void add(std::int64_t attempt, Outcome outcome, Reason reason = Reason::kNone) {
    TrialRecord record = attempt_of(1, attempt, outcome, reason).trial;
    record.run_id = "r";
    record.sequence = ++sequence_;
    index_.add(record, static_cast<std::uint32_t>(sequence_));
  }
  void start(std::int64_t attempt) { index_.add_started("r", trial_id(1), 0, attempt); }
  RecordedState state() {
    const auto states = index_.states({run_info("r")});
    EXPECT_EQ(states.size(), 1U);
    return states.empty() ? RecordedState{} : states[0];
  }

  AttemptIndex index_;
  std::int64_t sequence_ = 0;
};

TEST_F(AttemptIndexTest, TheNewestFinalAttemptIsTheRow) {
  add(1, Outcome::kCrashed, Reason::kSignal);
  add(2, Outcome::kInterrupted, Reason::kStopped);
  add(3, Outcome::kCompleted);
  const auto selection = index_.select();
  EXPECT_THAT(selection.trials, ElementsAre(3));
  EXPECT_THAT(selection.attempts, ElementsAre(1, 2));
  EXPECT_EQ(state().attempts, 3);
  EXPECT_EQ(state().executions, 1);
  EXPECT_EQ(state().outcome, Outcome::kCompleted);
}

TEST_F(AttemptIndexTest, WithoutAFinalOneTheNewestIsTheRow) {
  add(1, Outcome::kLost, Reason::kAgentLost);
  add(2, Outcome::kInterrupted, Reason::kStopped);
  EXPECT_THAT(index_.select().trials, ElementsAre(2));
  EXPECT_EQ(state().outcome, Outcome::kInterrupted);
  EXPECT_EQ(state().executions, 1);
}

TEST_F(AttemptIndexTest, ALateResultOfALostAttemptIsNeverTheRow) {
  add(1, Outcome::kLost, Reason::kAgentLost);
  add(1, Outcome::kCompleted);
  EXPECT_THAT(index_.select().trials, ElementsAre(1));
  EXPECT_EQ(state().outcome, Outcome::kLost);
  add(2, Outcome::kCrashed, Reason::kSignal);
  const auto selection = index_.select();
  EXPECT_THAT(selection.trials, ElementsAre(3));
  EXPECT_THAT(selection.attempts, ElementsAre(1, 2));
  EXPECT_EQ(state().executions, 2);
}

TEST_F(AttemptIndexTest, ADeviceThatWasAbsentGivesWayWhenTheTrialRuns) {
  add(1, Outcome::kSkipped, Reason::kDeviceAbsent);
  add(1, Outcome::kSkipped, Reason::kDeviceAbsent);
  EXPECT_THAT(index_.select().trials, ElementsAre(2));
  EXPECT_THAT(index_.select().attempts, IsEmpty());
  EXPECT_EQ(state().attempts, 0) << "it was no attempt";
  add(1, Outcome::kOutOfMemory);
  add(2, Outcome::kSkipped, Reason::kDeviceAbsent);
  EXPECT_THAT(index_.select().trials, ElementsAre(3));
  EXPECT_THAT(index_.select().attempts, IsEmpty());
  EXPECT_EQ(state().attempts, 1);
}

TEST_F(AttemptIndexTest, AnUnsupportedTrialIsFinal) {
  add(1, Outcome::kSkipped, Reason::kUnsupported);
  EXPECT_EQ(state().outcome, Outcome::kSkipped);
  EXPECT_THAT(index_.select().trials, ElementsAre(1));
}

TEST_F(AttemptIndexTest, AStartWithoutAnEndIsOpenAndKeepsItsNumber) {
  start(1);
  add(1, Outcome::kCrashed, Reason::kExitCode);
  start(2);
  ASSERT_EQ(index_.open_starts().size(), 1U);
  EXPECT_EQ(index_.open_starts()[0].attempt, 2);
  EXPECT_EQ(state().attempts, 2);
  EXPECT_EQ(state().open_starts, 1);
  EXPECT_EQ(state().executions, 1) << "a start without an end uses no budget";
  add(2, Outcome::kInterrupted, Reason::kOrchestratorDied);
  EXPECT_THAT(index_.open_starts(), IsEmpty());
  EXPECT_EQ(state().open_starts, 1) << "it stays counted over the life of the file";
  EXPECT_THAT(index_.select().trials, ElementsAre(1));
}

TEST_F(AttemptIndexTest, ATrialThatNeverEndedHasNoRow) {
  start(1);
  add(1, Outcome::kInterrupted, Reason::kOrchestratorDied);
  EXPECT_FALSE(state().has_row);
  EXPECT_EQ(state().outcome, Outcome::kInterrupted);
  EXPECT_THAT(index_.select().trials, IsEmpty());
  EXPECT_THAT(index_.select().attempts, ElementsAre(1));
}

TEST_F(AttemptIndexTest, OrderOfAddingDoesNotMatter) {
  TrialRecord second = attempt_of(1, 2).trial, first = attempt_of(1, 1, Outcome::kCrashed).trial;
  second.sequence = 2;
  first.sequence = 1;
  index_.add(second, 20);
  index_.add(first, 10);
  EXPECT_THAT(index_.select().trials, ElementsAre(20));
  EXPECT_THAT(index_.select().attempts, ElementsAre(10));
}

TEST_F(AttemptIndexTest, RunsAndRepeatsAreKeptApart) {
  for (const char* run : {"r", "s"}) {
    for (std::int64_t repeat : {0, 1}) {
      TrialRecord record = attempt_of(1).trial;
      record.run_id = run;
      record.repeat = repeat;
      record.sequence = ++sequence_;
      index_.add(record, static_cast<std::uint32_t>(sequence_));
    }
  }
  EXPECT_THAT(index_.select().trials, ElementsAre(1, 2, 3, 4));
  std::vector<std::string> words;  // run, repeat
  for (const RecordedState& state :
       index_.states({run_info("s"), run_info("without rows"), run_info("r")}))
    words.push_back(std::to_string(state.run) + "," + std::to_string(state.repeat));
  EXPECT_THAT(words, ElementsAre("2,0", "2,1", "0,0", "0,1"));
  EXPECT_EQ(index_.states({run_info("s")}).size(), 2U);
}

}  // namespace
}  // namespace batchsweep::results
