// SPDX-License-Identifier: Apache-2.0
#include "results/report/groups.hpp"

#include <gmock/gmock.h>

#include "base/error.hpp"
#include "tests/unit/report/sample_trials.hpp"

namespace batchsweep::results {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> texts(const Groups& groups, std::size_t axis) {
  std::vector<std::string> values;
  for (const Group& group : groups.groups) values.push_back(groups.values.text(axis, group.key));
  return values;
}

TrialRecord on(TrialRecord trial, const std::string& gpu, const std::string& precision) {
  trial.gpu = gpu;
  trial.precision = precision;
  return trial;
}

TEST(Groups, AllAxesButTheBatchTellGroupsApart) {
  TrialRecord other_data = sample_trial(8);
  other_data.data = "fashion-mnist";
  const Groups groups = gather({sample_trial(8), sample_trial(16), other_data});
  ASSERT_EQ(groups.groups.size(), 2U);
  EXPECT_THAT(texts(groups, kData), ElementsAre("fashion-mnist", "synthetic"));
  EXPECT_EQ(groups.groups[1].points.size(), 2U);
}

TEST(Groups, StandInTheOrderOfTheSweepFileElseNumbersBySizeAndPrecisionsFromWideToNarrow) {
  const std::vector<TrialRecord> trials = {on(sample_trial(8), "b", "bf16"),
                                           on(sample_trial(8), "a", "fp32"),
                                           on(sample_trial(8), "b", "fp32")};
  EXPECT_THAT(texts(gather(trials), kGpu), ElementsAre("a", "b", "b"));
  EXPECT_THAT(texts(gather(trials), kPrecision), ElementsAre("fp32", "fp32", "bf16"));
  EXPECT_THAT(texts(gather(trials, {{"gpu", {"b", "a"}}}), kGpu), ElementsAre("b", "b", "a"));

  std::vector<TrialRecord> sizes = {sample_trial(1), sample_trial(1), sample_trial(1)};
  sizes[0].world_size = 16;
  sizes[1].world_size = 2;
  EXPECT_THAT(texts(gather(sizes), kWorldSize), ElementsAre("1", "2", "16"));
}

TEST(Groups, TakeTheMedianOverRepeatsAndTheWidestInterval) {
  std::vector<TrialRecord> repeats;
  for (int i = 0; i < 3; ++i) {
    repeats.push_back(with_rate(sample_trial(8), 100 + 10 * i, 2));
    repeats.back().repeat = i;
  }
  repeats[2].samples_per_s = 190;
  const BatchPoint point = gather(repeats).groups[0].points[0];
  EXPECT_EQ(point.counted, 3);
  EXPECT_EQ(point.trials, 1);
  EXPECT_EQ(point.samples_per_s, 110);
  EXPECT_EQ(point.rate_low, 98);
  EXPECT_EQ(point.rate_high, 122);
}

TEST(Groups, FewerThanTwoAppliedStepsDoNotShowThatABatchFits) {
  TrialRecord one_step = sample_trial(8);
  one_step.applied_steps = 1;
  EXPECT_FALSE(gather({one_step}).groups[0].points[0].fits());
  one_step.applied_steps = 2;
  EXPECT_TRUE(gather({one_step}).groups[0].points[0].fits());
}

TEST(Groups, ABatchThatTheDataNeverFilledDoesNotFit) {
  TrialRecord trial = sample_trial(384);
  trial.timed_steps = 3;
  trial.samples = 1000;  // 384 + 384 + 232: the last one is short
  EXPECT_TRUE(gather({trial}).groups[0].points[0].fits());
  EXPECT_TRUE(gather({trial}).groups[0].points[0].short_batches);
  trial = sample_trial(4096);
  trial.timed_steps = 1;
  trial.samples = 1000;
  EXPECT_FALSE(gather({trial}).groups[0].points[0].fits());
}

TEST(Groups, ARowThatComesTwiceCountsOnce) {
  const TrialRecord trial = sample_trial(8);
  TrialRecord other_run = trial;
  other_run.run_id = "run-2";
  const Groups groups = gather({trial, trial, other_run});
  EXPECT_EQ(groups.rows, 2);
  EXPECT_EQ(groups.groups[0].points[0].counted, 2);
}

TEST(Groups, ARowThatEndedBeforeItSpokeBelongsToItsKind) {
  TrialRecord silent = out_of_memory(16);
  silent.torch_version = "";
  const Groups groups = gather({sample_trial(8), silent});
  ASSERT_EQ(groups.groups.size(), 1U);
  EXPECT_EQ(groups.groups[0].points.size(), 2U);

  TrialRecord newer = sample_trial(8);
  newer.torch_version = "2.12.0";  // two kinds: it could be of either
  EXPECT_EQ(gather({sample_trial(8), newer, silent}).groups.size(), 3U);
}

TEST(Groups, CountEveryOutcomeAndKeepTheEvidenceOfFailures) {
  TrialRecord crashed = sample_trial(32);
  crashed.outcome = "crashed";
  crashed.reason = "signal";
  crashed.signal = 11;
  crashed.message = "died by signal 11 (SIGSEGV)";
  TrialRecord skipped = sample_trial(64);
  skipped.outcome = "skipped";
  skipped.reason = "device_absent";
  skipped.message = "no device of type V100 here";
  const Groups groups = gather({sample_trial(8), out_of_memory(16), crashed, skipped, skipped});
  EXPECT_EQ(groups.rows, 4);  // the second skipped row is the first again
  EXPECT_EQ(groups.outcomes[static_cast<std::size_t>(Outcome::kCompleted)], 1);
  EXPECT_EQ(groups.outcomes[static_cast<std::size_t>(Outcome::kSkipped)], 1);
  ASSERT_EQ(groups.failures.size(), 1U);
  EXPECT_EQ(groups.failures[0].signal, 11);
  EXPECT_EQ(groups.failures[0].batch, 32);
  ASSERT_EQ(groups.skipped.size(), 1U);
  EXPECT_EQ(groups.skipped[0].message, "no device of type V100 here");
}

TEST(Groups, AnOutcomeOfANewerVersionIsCountedApart) {
  TrialRecord strange = sample_trial(8);
  strange.outcome = "preempted_by_cat";
  EXPECT_EQ(gather({strange}).unknown_outcomes, 1);
  EXPECT_EQ(gather({strange}).rows, 0);
}

TEST(Groups, OnlyPicksRowsByAxesAndBatch) {
  const auto picked = [](const std::vector<std::vector<sweeps::AxisMatch>>& filters,
                         const TrialRecord& trial) { return RowFilter(filters).matches(trial); };
  const TrialRecord trial = sample_trial(16);
  EXPECT_TRUE(picked({}, trial));
  EXPECT_TRUE(picked({{{"model", {"res*"}, {}, {}}}}, trial));
  EXPECT_FALSE(picked({{{"model", {"res*"}, {}, {}}, {"gpu", {"H100*"}, {}, {}}}}, trial));
  EXPECT_TRUE(picked({{{"gpu", {"H100*"}, {}, {}}}, {{"batch_size", {}, 16, 16}}}, trial));
  EXPECT_FALSE(picked({{{"batch_size", {}, 17, {}}}}, trial));
  EXPECT_THROW(picked({{{"learning_rate", {"0.1"}, {}, {}}}}, trial), UsageError);
}

}  // namespace
}  // namespace batchsweep::results
