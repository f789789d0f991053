// SPDX-License-Identifier: Apache-2.0
#include "results/report/statistics.hpp"

#include <gtest/gtest.h>

namespace batchsweep::results {
namespace {

TEST(Statistics, MedianOfOddEvenAndNothing) {
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 2, 3}), 2.5);
  EXPECT_EQ(median({}), std::nullopt);
}

TEST(Statistics, GeometricMeanOfRatios) {
  EXPECT_DOUBLE_EQ(*geometric_mean(std::vector<double>{2, 8}), 4);
  EXPECT_EQ(geometric_mean({}), std::nullopt);
}

TEST(Statistics, ALineThroughPointsOnALine) {
  const std::vector<Observation> points = {{1, 12, 1}, {2, 14, 1}, {8, 26, 1}};
  const Line line = *fit_line(points);
  EXPECT_NEAR(line.intercept, 10, 1e-12);
  EXPECT_NEAR(line.slope, 2, 1e-12);
}

TEST(Statistics, WeightsAndCovarianceAsTheNormalEquationsGiveThem) {
  // Two points with sigmas 1 and 2: var(slope) = (1 + 4) / (3 - 1)^2, var(intercept) = (9*1 + 1*4)
  // / 4.
  const Line line = *fit_line(std::vector<Observation>{{1, 5, 1}, {3, 9, 2}});
  EXPECT_NEAR(line.slope, 2, 1e-12);
  EXPECT_NEAR(line.intercept, 3, 1e-12);
  EXPECT_NEAR(line.slope_variance, 1.25, 1e-12);
  EXPECT_NEAR(line.intercept_variance, 3.25, 1e-12);
  EXPECT_NEAR(line.covariance, -1.75, 1e-12);
}

TEST(Statistics, NoLineThroughOneX) {
  EXPECT_FALSE(fit_line(std::vector<Observation>{{4, 1, 1}, {4, 2, 1}}));
  EXPECT_FALSE(fit_line({}));
}

}  // namespace
}  // namespace batchsweep::results
