// SPDX-License-Identifier: Apache-2.0
#include "results/record/derive.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "results/record/step_statistics.hpp"
#include "sweeps/gpu_catalogue.hpp"
#include "sweeps/model_table.hpp"

namespace batchsweep::results {
namespace {

// Four ranks, 100 samples each in 1.00, 1.00, 1.00 and 1.25 s.
AttemptRecord four_ranks() {
  AttemptRecord attempt;
  attempt.trial.world_size = 4;
  attempt.trial.outcome = "completed";
  for (std::int64_t rank = 0; rank < 4; ++rank) {
    RankRecord record;
    record.rank = rank;
    record.outcome = "completed";
    record.samples = 100;
    record.window_s = rank == 3 ? 1.25 : 1.0;
    attempt.ranks.push_back(record);
  }
  return attempt;
}

TEST(Derive, ThroughputIsOfAllRanksOverTheSlowestWindow) {
  AttemptRecord attempt = four_ranks();
  derive(attempt);
  EXPECT_EQ(attempt.trial.samples, 400);
  EXPECT_EQ(attempt.trial.window_s, 1.25);
  EXPECT_EQ(attempt.trial.samples_per_s, 320);
  EXPECT_EQ(attempt.trial.samples_per_s_per_gpu, 80);
  EXPECT_EQ(attempt.trial.tokens_per_s, std::nullopt);
}

TEST(Derive, MemoryIsTheMaximumOverRanks) {
  AttemptRecord attempt = four_ranks();
  const double gib[] = {1, 5, 2, 2};
  for (std::size_t i = 0; i < 4; ++i) attempt.ranks[i].peak_allocated_bytes = gib[i] * 1073741824.0;
  derive(attempt);
  EXPECT_EQ(attempt.trial.peak_allocated_bytes, 5 * 1073741824.0);
  EXPECT_EQ(attempt.trial.peak_reserved_bytes, std::nullopt)
      << "what no rank told is unknown, not 0";
  attempt.ranks[2].peak_allocated_bytes.reset();
  derive(attempt);
  EXPECT_EQ(attempt.trial.peak_allocated_bytes, 5 * 1073741824.0)
      << "a rank that died does not hide the others' peak";
}

TEST(Derive, SamplesAreCountedNotComputed) {
  // 1000 samples, batch 384, one pass: the last batch holds 232.
  AttemptRecord attempt;
  attempt.trial.batch_size = 384;
  attempt.ranks.emplace_back().samples = 1000;
  attempt.ranks[0].window_s = 2;
  derive(attempt);
  EXPECT_EQ(attempt.trial.samples_per_s, 500);
}

TEST(Derive, AbsentInputGivesAbsentOutput) {
  AttemptRecord attempt = four_ranks();
  attempt.ranks[1].samples.reset();
  attempt.ranks[2].window_s.reset();
  derive(attempt);
  EXPECT_EQ(attempt.trial.samples, std::nullopt);
  EXPECT_EQ(attempt.trial.window_s, std::nullopt);
  EXPECT_EQ(attempt.trial.samples_per_s, std::nullopt);
  AttemptRecord nothing, before;
  derive(nothing);
  EXPECT_EQ(nothing, before);
  AttemptRecord no_time = four_ranks();
  for (RankRecord& rank : no_time.ranks) rank.window_s = 0;
  derive(no_time);
  EXPECT_EQ(no_time.trial.samples_per_s, std::nullopt);
}

TEST(Derive, StepTimesAreThoseOfTheSlowestRankWithoutWarmUp) {
  AttemptRecord attempt = four_ranks();
  attempt.steps = {{0, 1, {9, 9, 9}, {}}, {3, 1, {57, 2, 4, std::nan(""), 3}, {}}};
  attempt.steps[0].time_s.resize(5, 9);
  derive(attempt);
  EXPECT_EQ(attempt.trial.step_time_median_s, 3);
  EXPECT_DOUBLE_EQ(*attempt.trial.step_time_p95_s, 3.9);
  EXPECT_EQ(attempt.trial.step_time_std_s, 1);
  EXPECT_EQ(attempt.trial.warmup_steps, 1);
  EXPECT_EQ(attempt.trial.timed_steps, 4);
  EXPECT_EQ(attempt.trial.samples_per_s_ci_low, std::nullopt)
      << "three steps say nothing about the spread";
}

// Asked for 5 and 20 steps, on two ranks.
AttemptRecord two_ranks_that_ended(const std::string& first, const std::string& second) {
  AttemptRecord attempt;
  attempt.trial.world_size = 2;
  attempt.trial.warmup_steps = 5;
  attempt.trial.timed_steps = 20;
  attempt.ranks.resize(2);
  attempt.ranks[0].outcome = first;
  attempt.ranks[1].rank = 1;
  attempt.ranks[1].outcome = second;
  return attempt;
}

TEST(Derive, StepsAreThoseThatAllRanksRan) {
  AttemptRecord attempt = two_ranks_that_ended("out_of_memory", "interrupted");
  derive(attempt);
  EXPECT_EQ(attempt.trial.warmup_steps, 0) << "out of memory in the first step";
  EXPECT_EQ(attempt.trial.timed_steps, 0);

  attempt = two_ranks_that_ended("crashed", "interrupted");
  attempt.steps = {{0, 5, std::vector<double>(7, 0.1), {}},
                   {1, 5, std::vector<double>(9, 0.1), {}}};
  derive(attempt);
  EXPECT_EQ(attempt.trial.warmup_steps, 5);
  EXPECT_EQ(attempt.trial.timed_steps, 2);
  attempt.steps[0] = {0, 3, std::vector<double>(3, 0.1), {}};
  derive(attempt);
  EXPECT_EQ(attempt.trial.warmup_steps, 3) << "ended in the warm-up";
  EXPECT_EQ(attempt.trial.timed_steps, 0);
  attempt.steps.erase(attempt.steps.begin());
  derive(attempt);
  EXPECT_EQ(attempt.trial.warmup_steps, 0) << "rank 0 finished none";
  EXPECT_EQ(attempt.trial.timed_steps, 0);
}

TEST(Derive, StepsNobodyCountedAreUnknownAndThoseOfACompletedTrialAsAsked) {
  AttemptRecord lost = two_ranks_that_ended("interrupted", "");
  derive(lost);
  EXPECT_EQ(lost.trial.warmup_steps, std::nullopt) << "nobody heard of the end of rank 1";
  EXPECT_EQ(lost.trial.timed_steps, std::nullopt);

  AttemptRecord silent = two_ranks_that_ended("completed", "completed");
  silent.trial.outcome = "completed";
  derive(silent);
  EXPECT_EQ(silent.trial.warmup_steps, 5) << "a program may keep its steps to itself";
  EXPECT_EQ(silent.trial.timed_steps, 20);

  AttemptRecord dropped = two_ranks_that_ended("crashed", "interrupted");
  dropped.steps = {{0, 1, {0.1, 0.1}, {}}, {1, 1, {0.1, 0.1}, {}}};
  dropped.ranks[0].events_dropped = 1;
  derive(dropped);
  EXPECT_EQ(dropped.trial.timed_steps, std::nullopt) << "some steps were not told";
}

TEST(Derive, TheIntervalHoldsTheRateAndIsAbsentForFewSteps) {
  AttemptRecord attempt = four_ranks();
  attempt.steps = {{3, 0, std::vector<double>(7, 0.1), {}}};
  derive(attempt);
  EXPECT_EQ(attempt.trial.samples_per_s_ci_low, std::nullopt);
  attempt.steps[0].time_s = {0.10, 0.11, 0.12, 0.11, 0.10, 0.11, 0.12, 0.13};
  derive(attempt);
  ASSERT_TRUE(attempt.trial.samples_per_s_ci_low && attempt.trial.samples_per_s_ci_high);
  EXPECT_LT(*attempt.trial.samples_per_s_ci_low, 320);
  EXPECT_GT(*attempt.trial.samples_per_s_ci_high, 320);
  attempt.trial.samples_per_s_ci_high.reset();
  attempt.steps[0].time_s = {9, 9, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1};
  derive(attempt);
  EXPECT_EQ(attempt.trial.samples_per_s_ci_high, std::nullopt)
      << "an interval that reaches 0 s has no upper rate";
}

TEST(Derive, OutOfMemoryIsThatOfTheGuiltyRank) {
  AttemptRecord attempt = four_ranks();
  attempt.trial.guilty_rank = 2;
  attempt.ranks[1].oom_requested_bytes = 1;
  attempt.ranks[2].oom_requested_bytes = 42;
  attempt.ranks[2].oom_limit_bytes = 100;
  derive(attempt);
  EXPECT_EQ(attempt.trial.oom_requested_bytes, 42);
  EXPECT_EQ(attempt.trial.oom_limit_bytes, 100);
  EXPECT_EQ(attempt.trial.oom_allocated_bytes, std::nullopt);
}

TEST(Derive, LossesAreMeansStepsTheWorst) {
  AttemptRecord attempt = four_ranks();
  for (std::size_t i = 0; i < 4; ++i) {
    attempt.ranks[i].loss_last = static_cast<double>(i);
    attempt.ranks[i].applied_steps = 10.0 - static_cast<double>(i);
    attempt.ranks[i].skipped_steps = static_cast<double>(i);
  }
  derive(attempt);
  EXPECT_EQ(attempt.trial.loss_last, 1.5);
  EXPECT_EQ(attempt.trial.applied_steps, 7);
  EXPECT_EQ(attempt.trial.skipped_steps, 3);
}

TEST(Derive, MfuOnlyWhereModelInputPeakAndDeviceAreReal) {
  const sweeps::ModelInfo* model = sweeps::find_model("resnet18");
  const sweeps::GpuType* gpu = sweeps::find_gpu("H100 80GB SXM");
  ASSERT_TRUE(model != nullptr && gpu != nullptr && gpu->bf16_flops);
  AttemptRecord attempt = four_ranks();
  attempt.trial.model = "resnet18";
  attempt.trial.gpu = "H100 80GB SXM";
  attempt.trial.precision = "bf16";
  attempt.trial.image_height = attempt.trial.image_width = static_cast<double>(model->image_size);
  AttemptRecord known = attempt;
  derive(known);
  if (model->multiply_adds_per_sample) {
    ASSERT_TRUE(known.trial.mfu);
    EXPECT_DOUBLE_EQ(*known.trial.mfu,
                     80 * 6 * *model->multiply_adds_per_sample / *gpu->bf16_flops);
  }
  for (const auto& change : std::vector<std::function<void(TrialRecord&)>>{
           [](TrialRecord& t) { t.emulated = true; }, [](TrialRecord& t) { t.gpu = "cpu"; },
           [](TrialRecord& t) { t.model = "mine"; }, [](TrialRecord& t) { t.precision = "int4"; },
           [](TrialRecord& t) { t.image_height = 28; },
           [](TrialRecord& t) { t.origin = "rehearsed"; }}) {
    AttemptRecord other = attempt;
    change(other.trial);
    derive(other);
    EXPECT_EQ(other.trial.mfu, std::nullopt);
  }
}

TEST(StepStatistics, QuantilesInterpolateLinearly) {
  EXPECT_EQ(quantile({}, 0.5), std::nullopt);
  EXPECT_EQ(quantile({7}, 0.95), 7);
  EXPECT_EQ(quantile({4, 1, 3, 2}, 0.5), 2.5);
  EXPECT_EQ(quantile({1, 2, 3, 4, 5}, 0.25), 2);
}

TEST(StepStatistics, BatchMeansByHand) {
  // Nine values in three batches of three with means 1, 2, 3: t(2) x 1 / sqrt(3) / 2.
  EXPECT_NEAR(*relative_interval_of_mean({1, 1, 1, 2, 2, 2, 3, 3, 3}), 4.303 / std::sqrt(3.0) / 2,
              1e-12);
  EXPECT_EQ(relative_interval_of_mean(std::vector<double>(8, 2.0)), 0);
  EXPECT_EQ(relative_interval_of_mean(std::vector<double>(7, 2.0)), std::nullopt);
}

TEST(StepStatistics, TheIntervalOfTheMedianCountsRanks) {
  // How many values lie outside at either end, plus one: as in any table of the sign test.
  const std::map<int, int> ranks = {{6, 1},   {8, 1},    {9, 2},      {16, 4},      {20, 6},
                                    {50, 18}, {100, 40}, {1000, 469}, {10000, 4902}};
  for (const auto& [n, rank] : ranks) {
    std::vector<double> values(static_cast<std::size_t>(n));
    std::iota(values.rbegin(), values.rend(), 1.0);
    const std::optional<Interval> interval = interval_of_median(values);
    ASSERT_TRUE(interval);
    EXPECT_EQ(interval->low, rank) << n;
    EXPECT_EQ(interval->high, n + 1 - rank) << n;
  }
  EXPECT_FALSE(interval_of_median({1, 2, 3, 4, 5}));
  EXPECT_FALSE(interval_of_median({}));
}

TEST(StepStatistics, StudentsQuantileGoesOnWhereTheTableEnds) {
  EXPECT_EQ(student_t_975(1), 12.706);
  EXPECT_NEAR(student_t_975(31), 2.0395, 0.0005);
  EXPECT_NEAR(student_t_975(60), 2.0003, 0.0005);
  EXPECT_NEAR(student_t_975(1000), 1.9623, 0.0005);
}

}  // namespace
}  // namespace batchsweep::results
