// SPDX-License-Identifier: Apache-2.0
// The few statistics that the report needs. Pure arithmetic; knows nothing of trials.
#pragma once

#include <optional>
#include <span>
#include <vector>

namespace batchsweep::results {

// Of an even number of values: the mean of the middle two. Nothing of nothing.
[[nodiscard]] std::optional<double> median(std::vector<double> values);
// Of positive values; nothing of nothing.
[[nodiscard]] std::optional<double> geometric_mean(std::span<const double> values);

struct Observation {
  double x = 0;
  double y = 0;
  double sigma = 1;  // standard error of y: weights the observation by 1 / sigma^2
};

// y = intercept + slope * x, with the covariance that the observations' sigmas give the two.
struct Line {
  double intercept = 0;
  double slope = 0;
  double intercept_variance = 0;
  double slope_variance = 0;
  double covariance = 0;
  [[nodiscard]] double at(double x) const { return intercept + slope * x; }
};

// Weighted least squares. Nothing where fewer than two different x were observed.
[[nodiscard]] std::optional<Line> fit_line(std::span<const Observation> observations);

}  // namespace batchsweep::results
