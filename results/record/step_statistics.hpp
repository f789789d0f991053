// SPDX-License-Identifier: Apache-2.0
// Statistics of step times. Pure.
#pragma once

#include <optional>
#include <vector>

namespace batchsweep::results {

// Between neighbours interpolated linearly (numpy's default). nullopt for no values.
[[nodiscard]] std::optional<double> quantile(std::vector<double> values, double q);
// Divided by n - 1; nullopt for fewer than two values.
[[nodiscard]] std::optional<double> standard_deviation(const std::vector<double>& values);

// Half the width of the 95 % confidence interval of the mean, over the mean, by nonoverlapping
// batch means: step times are correlated (lag 1: 0.2 to 0.4), so s / sqrt(n) would be too narrow.
// With n values in k = n / m batches of m = floor(sqrt(n)) neighbours (the first values that fill
// no batch are left out), batch means b_i with mean b and standard deviation s_b:
//     t(0.975, k - 1) x s_b / sqrt(k) / b
// (Law, Simulation Modeling and Analysis, on batch means; t is Student's quantile.) nullopt with
// fewer than 8 values.
[[nodiscard]] std::optional<double> relative_interval_of_mean(const std::vector<double>& values);
// Distribution-free 95 % confidence interval of the median of independent values: the r-th smallest
// and the r-th largest, r the largest with P(Binomial(n, 1/2) < r) <= 0.025 (David and Nagaraja,
// Order Statistics, section 7.1). One slow step moves it little, unlike the interval of the mean.
// nullopt with fewer than 6 values: even the extremes would not hold the median often enough.
struct Interval {
  double low = 0, high = 0;
};
[[nodiscard]] std::optional<Interval> interval_of_median(std::vector<double> values);
// Student's t quantile at 0.975.
[[nodiscard]] double student_t_975(int degrees_of_freedom);

}  // namespace batchsweep::results
