// SPDX-License-Identifier: Apache-2.0
#include "results/report/scaling.hpp"

#include <gtest/gtest.h>

#include "tests/unit/report/sample_trials.hpp"

namespace batchsweep::results {
namespace {

TrialRecord ranks(std::int64_t world_size, std::int64_t batch, double rate) {
  TrialRecord trial = with_rate(sample_trial(batch), rate);
  trial.world_size = world_size;
  trial.global_batch_size = world_size * batch;
  trial.samples = static_cast<double>(20 * trial.global_batch_size);
  return trial;
}

TEST(Scaling, NeedsSeveralWorldSizes) {
  EXPECT_TRUE(scaling(gather({ranks(2, 8, 100), ranks(2, 16, 120)})).empty());
}

TEST(Scaling, WeakKeepsTheBatchPerRankAndStrongTheGlobalOne) {
  const std::vector<Scaling> answer =
      scaling(gather({ranks(1, 16, 100), ranks(1, 32, 110), ranks(2, 16, 180)}));
  ASSERT_EQ(answer.size(), 4U);
  EXPECT_EQ(answer[0].kind, ScalingKind::kWeak);
  EXPECT_EQ(answer[0].world_size, 1);
  EXPECT_EQ(answer[0].efficiency, 1);
  EXPECT_EQ(answer[1].batch, 16);
  EXPECT_DOUBLE_EQ(answer[1].efficiency, 0.9);  // 180 / (2 * 100)
  EXPECT_EQ(answer[3].kind, ScalingKind::kStrong);
  EXPECT_EQ(answer[3].global_batch, 32);
  EXPECT_DOUBLE_EQ(answer[3].efficiency, 180.0 / (2 * 110));
}

TEST(Scaling, IsRelativeToTheSmallestWorldSizeThatCompleted) {
  TrialRecord failed = ranks(1, 16, 100);
  failed.outcome = "out_of_memory";
  const std::vector<Scaling> answer =
      scaling(gather({failed, ranks(2, 16, 180), ranks(4, 16, 300)}));
  ASSERT_EQ(answer.size(), 2U);
  EXPECT_EQ(answer[1].base_world_size, 2);
  EXPECT_DOUBLE_EQ(answer[1].efficiency, 300.0 / (2 * 180));
}

}  // namespace
}  // namespace batchsweep::results
