// SPDX-License-Identifier: Apache-2.0
#include "results/report/memory_fit.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/report/sample_trials.hpp"

namespace batchsweep::results {
namespace {

TrialRecord with_peak(std::int64_t batch, double peak) {
  TrialRecord trial = sample_trial(batch);
  trial.peak_allocated_bytes = peak;
  return trial;
}

TEST(MemoryFit, TwoPointsGiveTheLineThroughThem) {
  const MemoryFit fit = *fit_memory(gather({with_peak(4, 140), with_peak(8, 180)}), 0);
  EXPECT_NEAR(fit.fixed_bytes, 100, 1e-9);
  EXPECT_NEAR(fit.bytes_per_sample, 10, 1e-9);
  EXPECT_NEAR(fit.worst_error, 0, 1e-12);
  EXPECT_EQ(fit.points_used, 2);
  EXPECT_NEAR(*fit.batch_at(1000), 90, 1e-9);
}

TEST(MemoryFit, OnePointIsNoLine) { EXPECT_FALSE(fit_memory(gather({with_peak(4, 140)}), 0)); }

TEST(MemoryFit, UsesTheLargerHalfAndShowsHowWrongItIsBelow) {
  // The peak is the larger of two lines that cross at 12.
  std::vector<TrialRecord> trials;
  for (const std::int64_t batch : {1, 2, 4, 8, 16, 32}) {
    const double b = static_cast<double>(batch);
    trials.push_back(with_peak(batch, std::max(220 + 5 * b, 40 + 20 * b)));
  }
  const MemoryFit fit = *fit_memory(gather(trials), 0);
  EXPECT_EQ(fit.points, 6);
  EXPECT_EQ(fit.points_used, 3);
  EXPECT_EQ(fit.smallest_used, 8);
  EXPECT_EQ(fit.largest_used, 32);
  EXPECT_GT(fit.bytes_per_sample,
            15);                    // the line that will meet the limit, not the small batches' 5
  EXPECT_GT(fit.worst_error, 0.3);  // and at batch 1 it is far off
}

TEST(MemoryFit, LeavesOutBatchesThatRanOutOfMemory) {
  TrialRecord oom = out_of_memory(16);
  oom.peak_allocated_bytes = 1;
  const MemoryFit fit = *fit_memory(gather({with_peak(4, 140), with_peak(8, 180), oom}), 0);
  EXPECT_EQ(fit.points, 2);
  EXPECT_NEAR(fit.bytes_per_sample, 10, 1e-9);
}

TEST(MemoryFit, MemoryThatDoesNotGrowMeetsNoLimit) {
  EXPECT_FALSE(fit_memory(gather({with_peak(4, 140), with_peak(8, 140)}), 0)->batch_at(1000));
}

}  // namespace
}  // namespace batchsweep::results
