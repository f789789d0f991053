// SPDX-License-Identifier: Apache-2.0
#include "results/report/statistics.hpp"

#include <algorithm>
#include <cmath>

namespace batchsweep::results {

std::optional<double> median(std::vector<double> values) {
  if (values.empty()) return std::nullopt;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

std::optional<double> geometric_mean(std::span<const double> values) {
  if (values.empty()) return std::nullopt;
  double sum = 0;
  for (const double value : values) sum += std::log(value);
  return std::exp(sum / static_cast<double>(values.size()));
}

std::optional<Line> fit_line(std::span<const Observation> observations) {
  double weights = 0, mean_x = 0, mean_y = 0;
  for (const Observation& o : observations) {
    const double weight = 1 / (o.sigma * o.sigma);
    weights += weight;
    mean_x += weight * o.x;
    mean_y += weight * o.y;
  }
  if (weights <= 0) return std::nullopt;
  mean_x /= weights;
  mean_y /= weights;
  // About the weighted mean: sums of plain squares lose all digits where x^2 is large.
  double sxx = 0, sxy = 0;
  for (const Observation& o : observations) {
    const double weight = 1 / (o.sigma * o.sigma);
    sxx += weight * (o.x - mean_x) * (o.x - mean_x);
    sxy += weight * (o.x - mean_x) * (o.y - mean_y);
  }
  const bool one_x =
      std::all_of(observations.begin(), observations.end(),
                  [&](const Observation& o) { return o.x == observations.front().x; });
  if (one_x) return std::nullopt;
  Line line;
  line.slope = sxy / sxx;
  line.intercept = mean_y - line.slope * mean_x;
  line.slope_variance = 1 / sxx;
  line.intercept_variance = 1 / weights + mean_x * mean_x / sxx;
  line.covariance = -mean_x / sxx;
  return line;
}

}  // namespace batchsweep::results
