// SPDX-License-Identifier: Apache-2.0
#include "results/report/frontier.hpp"

#include <gmock/gmock.h>

#include "tests/unit/report/sample_trials.hpp"

namespace batchsweep::results {
namespace {

LargestBatch of(const std::vector<TrialRecord>& trials) { return largest_batch(gather(trials), 0); }

TrialRecord ended(std::int64_t batch, const std::string& outcome) {
  TrialRecord trial = sample_trial(batch);
  trial.outcome = outcome;
  return trial;
}

TEST(LargestBatch, LiesBetweenTheLargestThatFitsAndTheSmallestThatDoesNot) {
  const LargestBatch answer =
      of({sample_trial(8), sample_trial(16), out_of_memory(32), out_of_memory(64)});
  EXPECT_EQ(answer.max_batch_fit, 16);
  EXPECT_EQ(answer.min_batch_oom, 32);
  EXPECT_FALSE(answer.exact);  // 17 to 31 were not tried
  EXPECT_EQ(answer.remark, "");
}

TEST(LargestBatch, IsExactWhereTheTwoAreNeighbours) {
  EXPECT_TRUE(of({sample_trial(16), out_of_memory(17)}).exact);
  // A grid in steps of eight: neighbours as far as was asked.
  EXPECT_TRUE(of({sample_trial(8), sample_trial(16), out_of_memory(24)}).exact);
  // In a doubling series no step comes twice.
  EXPECT_FALSE(of({sample_trial(8), out_of_memory(16), out_of_memory(32)}).exact);
}

TEST(LargestBatch, WithoutOutOfMemoryTheLimitWasNotReached) {
  const LargestBatch answer = of({sample_trial(8), sample_trial(16)});
  EXPECT_EQ(answer.max_batch_fit, 16);
  EXPECT_EQ(answer.min_batch_oom, std::nullopt);
  EXPECT_EQ(answer.remark, "fits up to 16, limit not reached");
}

TEST(LargestBatch, WhereNothingFitsTheSmallestTriedIsNamed) {
  const LargestBatch answer = of({out_of_memory(4), out_of_memory(8)});
  EXPECT_EQ(answer.max_batch_fit, std::nullopt);
  EXPECT_EQ(answer.remark, "no batch fits; smallest tried 4 ran out of memory");
}

TEST(LargestBatch, OtherEndingsBelowTheBoundaryAreTold) {
  const LargestBatch answer =
      of({sample_trial(8), ended(16, "timed_out"), out_of_memory(32), ended(64, "crashed")});
  EXPECT_EQ(answer.max_batch_fit, 8);
  EXPECT_EQ(answer.remark, "16: 1 timed_out");
  EXPECT_EQ(of({ended(8, "crashed")}).remark, "no batch completed; 8: 1 crashed");
}

TEST(LargestBatch, ATrialWithOneStepIsNoProof) {
  TrialRecord one_step = sample_trial(16);
  one_step.applied_steps = 1;
  const LargestBatch answer = of({sample_trial(8), one_step});
  EXPECT_EQ(answer.max_batch_fit, 8);
  EXPECT_EQ(answer.remark, "fits up to 8, limit not reached; 16: fewer than two full steps");
}

TEST(LargestBatch, ABoundaryInTheWrongOrderIsNotClaimed) {
  const LargestBatch answer =
      of({sample_trial(32), out_of_memory(33), sample_trial(34), out_of_memory(35)});
  EXPECT_FALSE(answer.boundary_seen());
  EXPECT_FALSE(answer.exact);
  EXPECT_EQ(answer.remark, "no clear boundary: 33 ran out of memory, the larger 34 fits");
}

TEST(LargestBatch, RepeatsThatDisagreeDoNotFit) {
  std::vector<TrialRecord> trials = {sample_trial(8), sample_trial(16), out_of_memory(16),
                                     sample_trial(16)};
  trials[2].repeat = 1;
  trials[3].repeat = 2;
  const LargestBatch answer = of(trials);
  EXPECT_EQ(answer.max_batch_fit, 8);
  EXPECT_EQ(answer.min_batch_oom, 16);
  EXPECT_EQ(answer.remark, "16 fits in 2 of 3 processes");
}

TEST(LargestBatch, TellsExhaustedMemoryFromReservedButUnusable) {
  TrialRecord fragmented = out_of_memory(16);
  fragmented.oom_requested_bytes = 100.0 * 1048576;
  fragmented.oom_allocated_bytes = 500.0 * 1048576;
  fragmented.oom_reserved_bytes = 900.0 * 1048576;
  EXPECT_EQ(of({sample_trial(8), fragmented}).remark, "reserved but unusable at 16: 400 MiB");
  fragmented.oom_reserved_bytes = 550.0 * 1048576;  // less than was asked for: simply full
  EXPECT_EQ(of({sample_trial(8), fragmented}).remark, "");
}

TEST(LargestBatch, APeakAboveTheLimitIsNotPassedOverInSilence) {
  TrialRecord trial = sample_trial(8);
  trial.peak_allocated_bytes = 1001;
  EXPECT_THAT(of({trial}).remark, ::testing::EndsWith("the peak at 8 is above the limit"));
  trial.peak_allocated_bytes = 1000;
  EXPECT_EQ(of({trial}).remark, "fits up to 8, limit not reached");
}

TEST(LargestBatch, CarriesThePeaksOfTheLargestThatFitsAndTheLimit) {
  TrialRecord trial = sample_trial(8);
  trial.peak_allocated_bytes = 700;
  trial.peak_reserved_bytes = 800;
  trial.memory_cap_bytes = 1000;
  trial.reserve_bytes = 50;
  const LargestBatch answer = of({trial});
  EXPECT_EQ(answer.peak_allocated_bytes, 700);
  EXPECT_EQ(answer.peak_reserved_bytes, 800);
  EXPECT_EQ(answer.peak_device_used_bytes, std::nullopt);
  EXPECT_EQ(answer.limit_bytes, 950);
}

}  // namespace
}  // namespace batchsweep::results
