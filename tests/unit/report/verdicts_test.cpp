// SPDX-License-Identifier: Apache-2.0
#include "results/report/verdicts.hpp"

#include <gmock/gmock.h>

#include "tests/unit/report/sample_trials.hpp"

namespace batchsweep::results {
namespace {

using ::testing::HasSubstr;

Verdict of(const std::vector<TrialRecord>& trials) {
  const Groups groups = gather(trials);
  return verdict(groups, largest_batch(groups, 0), fit_memory(groups, 0));
}

TrialRecord beyond(const std::vector<TrialRecord>& trials, std::int64_t batch) {
  TrialRecord trial = out_of_memory(batch);
  trial.memory_cap_bytes = trials.back().memory_cap_bytes;
  return trial;
}

// Batches 1, 2, 4 ... largest with step time t0 + t1 * batch and peak = memory_per_sample * batch.
std::vector<TrialRecord> series(std::int64_t largest, double t0, double t1) {
  std::vector<TrialRecord> trials;
  for (std::int64_t batch = 1; batch <= largest; batch *= 2) {
    trials.push_back(with_step_time(sample_trial(batch), t0, t1));
    trials.back().peak_allocated_bytes = 10.0 * static_cast<double>(batch);
    trials.back().memory_cap_bytes = 10.0 * static_cast<double>(largest);
  }
  return trials;
}

TEST(Verdict, MemoryLimitsWhereTheRateStillGrowsAtTheBoundary) {
  std::vector<TrialRecord> trials =
      series(8, 1, 0.25);  // a third of the step at batch 8 is overhead
  trials.push_back(beyond(trials, 16));
  const Verdict answer = of(trials);
  EXPECT_EQ(answer.limit, Limit::kMemory);
  // 2 (1 + 2) / (1 + 4) - 1: twice the memory, twice the batch, a fifth more samples a second.
  EXPECT_NEAR(answer.predicted_gain->value, 0.2, 1e-6);
  EXPECT_EQ(answer.batch_at_double_memory, 16);
  EXPECT_NEAR(answer.measured_gain->value, 1.0 / 3, 1e-6);
  EXPECT_EQ(answer.measured_from_batch, 4);
  EXPECT_NEAR(*answer.asymptotic_samples_per_s, 4, 1e-6);
  EXPECT_NEAR(*answer.reached_share, 2.0 / 3, 1e-6);
}

TEST(Verdict, ComputeLimitsWhereTheRateHasLevelledOff) {
  std::vector<TrialRecord> trials = series(64, 0.1, 1);
  trials.push_back(beyond(trials, 128));
  const Verdict answer = of(trials);
  EXPECT_EQ(answer.limit, Limit::kCompute);
  EXPECT_LT(answer.predicted_gain->high, kWorthwhileGain);
}

TEST(Verdict, ComputeLimitsAlsoWhereTheBoundaryWasNotReached) {
  EXPECT_EQ(of(series(64, 0.1, 1)).limit, Limit::kCompute);
}

TEST(Verdict, GrowthWithoutABoundarySaysNothingAboutMemory) {
  const Verdict answer = of(series(8, 1, 0.25));
  EXPECT_EQ(answer.limit, Limit::kUndecided);
  EXPECT_THAT(answer.reason, HasSubstr("limit was not reached at batch 8"));
  EXPECT_TRUE(answer.predicted_gain);
}

TEST(Verdict, FixedMemoryMakesTwiceTheMemoryMoreThanTwiceTheBatch) {
  std::vector<TrialRecord> trials = series(8, 1, 0.25);
  for (TrialRecord& trial : trials) {
    trial.peak_allocated_bytes = 80 + 10 * static_cast<double>(trial.batch_size);
    trial.memory_cap_bytes = 160;
  }
  trials.push_back(beyond(trials, 16));
  EXPECT_EQ(of(trials).batch_at_double_memory, 24);
}

TEST(Verdict, WhereNothingFitsMemoryLimits) {
  const Verdict answer = of({out_of_memory(1), out_of_memory(2)});
  EXPECT_EQ(answer.limit, Limit::kMemory);
  EXPECT_EQ(answer.reason, "no batch fits; smallest tried 1 ran out of memory");
}

TEST(Verdict, OneBatchThatFitsShowsNoGrowth) {
  const Verdict answer = of({with_step_time(sample_trial(8), 1, 0.25), out_of_memory(16)});
  EXPECT_EQ(answer.limit, Limit::kUndecided);
  EXPECT_THAT(answer.reason, HasSubstr("only one batch fits"));
}

TEST(Verdict, NoiseAsLargeAsTheGainLeavesItUndecided) {
  std::vector<TrialRecord> trials = series(8, 1, 0.25);
  for (TrialRecord& trial : trials) {
    const double rate = *trial.samples_per_s;
    trial = with_rate(trial, rate, 0.4 * rate);
  }
  trials.push_back(beyond(trials, 16));
  const Verdict answer = of(trials);
  EXPECT_EQ(answer.limit, Limit::kUndecided);
  EXPECT_LT(answer.measured_gain->low, 0);
}

TEST(Verdict, NoGrowthIsClaimedThatNoiseCouldMake) {
  std::vector<TrialRecord> trials =
      series(8, 0.4, 0.25);  // an honest gain of 9 %, under noise of 10 %
  for (TrialRecord& trial : trials)
    trial = with_rate(trial, *trial.samples_per_s, 0.2 * *trial.samples_per_s);
  EXPECT_THAT(of(trials).reason,
              HasSubstr("within the noise"));  // nor that the grid ended too early
}

TEST(Verdict, AFewDisturbedStepsDoNotHideTheGrowth) {
  std::vector<TrialRecord> trials = series(8, 1, 0.25);
  for (TrialRecord& trial : trials) {
    const double step_s = 1 + 0.25 * static_cast<double>(trial.batch_size);
    trial.step_time_median_s = step_s;
    trial.step_time_median_ci_low_s = 0.99 * step_s;
    trial.step_time_median_ci_high_s = 1.01 * step_s;
    trial = with_rate(trial, 0.7 * *trial.samples_per_s, 0.4 * *trial.samples_per_s);
  }
  trials.push_back(beyond(trials, 16));
  const Verdict answer = of(trials);
  EXPECT_EQ(answer.limit, Limit::kMemory);
  EXPECT_NEAR(answer.measured_gain->value, 1.0 / 3, 1e-6);
  // 1.96 x 4/3 x sqrt(2) x hypot(1.363 x 2 % / 3.92, 1.8 %)
  EXPECT_NEAR(answer.measured_gain->high - answer.measured_gain->value, 0.0713, 0.0005);
}

TEST(Verdict, TheMisfitOfTheLineWidensTheInterval) {
  std::vector<TrialRecord> straight = series(32, 1, 0.25), crooked = straight;
  crooked[4].samples_per_s =
      *crooked[4].samples_per_s * 0.85;  // of the three largest, the middle one
  const auto width = [](const Verdict& answer) {
    return answer.predicted_gain->high - answer.predicted_gain->low;
  };
  EXPECT_GT(width(of(straight)), 0.02);  // the noise of each process stays, however straight
  EXPECT_GT(width(of(crooked)), 1.5 * width(of(straight)));
}

TEST(Verdict, AStepThatTakesTheSameWhateverTheBatchIsAllOverhead) {
  std::vector<TrialRecord> trials = series(8, 1, 0);
  trials.push_back(beyond(trials, 16));
  const Verdict answer = of(trials);
  EXPECT_EQ(answer.limit, Limit::kMemory);
  EXPECT_NEAR(answer.predicted_gain->value, 1, 1e-3);
  EXPECT_FALSE(answer.asymptotic_samples_per_s && *answer.reached_share > 0.01);
}

TEST(Verdict, NoVerdictWithoutAClearBoundary) {
  std::vector<TrialRecord> trials = series(8, 1, 0.25);
  trials.push_back(out_of_memory(3));
  EXPECT_EQ(of(trials).limit, Limit::kUndecided);
  EXPECT_THAT(of(trials).reason, HasSubstr("no clear boundary"));
}

}  // namespace
}  // namespace batchsweep::results
