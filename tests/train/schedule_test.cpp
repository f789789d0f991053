// SPDX-License-Identifier: Apache-2.0
// Factors of torch.optim.lr_scheduler and of transformers (linear_warmup), as they came out of
// these over 10 and 25 steps at rate 1.
#include "worker/train/schedule.hpp"

#include <gmock/gmock.h>

#include <vector>

#include "worker/train/trial_errors.hpp"

namespace batchsweep::train {
namespace {

using Factors = std::vector<double>;

Factors factors(const std::string& name, std::int64_t total) {
  const Schedule schedule(name, total);
  Factors factors;
  for (std::int64_t step = 0; step < total; ++step) factors.push_back(schedule.factor(step));
  return factors;
}

void expect_factors(const std::string& name, const Factors& wanted) {
  EXPECT_THAT(factors(name, static_cast<std::int64_t>(wanted.size())),
              testing::Pointwise(testing::DoubleNear(1e-6), wanted))
      << name;
}

TEST(Schedule, ConstantStaysAtTheBaseRate) { expect_factors("constant", Factors(10, 1.0)); }

TEST(Schedule, LinearWarmupRisesOverTheFirstTenth) {
  expect_factors("linear_warmup", {0, 1, 1, 1, 1, 1, 1, 1, 1, 1});
  Factors of_25(25, 1.0);
  of_25[0] = 0;
  of_25[1] = 1.0 / 3;
  of_25[2] = 2.0 / 3;
  expect_factors("linear_warmup", of_25);
}

TEST(Schedule, StepDividesByTenAfterEachThird) {
  expect_factors("step", {1, 1, 1, 1, 0.1, 0.1, 0.1, 0.1, 0.01, 0.01});
  expect_factors("step", {1,   1,   1,   1,   1,   1,    1,    1,    1,    0.1,  0.1,  0.1, 0.1,
                          0.1, 0.1, 0.1, 0.1, 0.1, 0.01, 0.01, 0.01, 0.01, 0.01, 0.01, 0.01});
}

TEST(Schedule, CosineFallsTowardsZero) {
  expect_factors("cosine", {1, 0.9755283, 0.9045085, 0.7938926, 0.6545085, 0.5, 0.3454915,
                            0.2061074, 0.0954915, 0.02447174});
}

TEST(Schedule, OneCycleRisesOverThreeTenthsAndFallsToAlmostNothing) {
  expect_factors("one_cycle", {0.04, 0.52, 1, 0.9504846, 0.8117457, 0.611262, 0.388742, 0.1882583,
                               0.04951937, 4e-06});
  expect_factors("one_cycle",
                 {0.04,       0.09498111, 0.2473289,   0.4621424, 0.6902103, 0.8792852, 0.9860521,
                  0.9979872,  0.9819815,  0.9504846,   0.9045089, 0.8455319, 0.7754494, 0.6965137,
                  0.611262,   0.5224343,  0.4328856,   0.3454941, 0.2630686, 0.1882583, 0.1234678,
                  0.07077932, 0.03188644, 0.008039174, 4e-06});
}

TEST(Schedule, StepsBehindTheLastKeepItsFactor) {
  for (const char* name : {"constant", "linear_warmup", "step", "cosine", "one_cycle"}) {
    const Schedule schedule(name, 10);
    EXPECT_EQ(schedule.factor(1000), schedule.factor(9)) << name;
  }
}

TEST(Schedule, AFewStepsAreEnoughForEach) {
  for (const char* name : {"constant", "linear_warmup", "step", "cosine", "one_cycle"}) {
    for (const std::int64_t total : {1, 2, 3, 4}) {
      EXPECT_THAT(factors(name, total),
                  testing::Each(testing::AllOf(testing::Ge(0.0), testing::Le(1.0))))
          << name << " over " << total;
    }
  }
}

TEST(Schedule, RefusesAnUnknownName) { EXPECT_THROW(Schedule("polynomial", 10), TrialFailed); }

}  // namespace
}  // namespace batchsweep::train
