// SPDX-License-Identifier: Apache-2.0
#include "results/record/step_statistics.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "base/check.hpp"

namespace batchsweep::results {
namespace {
double mean(const double* begin, std::size_t count) {
  return std::accumulate(begin, begin + count, 0.0) / static_cast<double>(count);
}
}  // namespace

std::optional<double> quantile(std::vector<double> values, double q) {
  if (values.empty()) return std::nullopt;
  std::sort(values.begin(), values.end());
  const double place = q * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (place - static_cast<double>(below)) * (values[above] - values[below]);
}

std::optional<double> standard_deviation(const std::vector<double>& values) {
  if (values.size() < 2) return std::nullopt;
  const double centre = mean(values.data(), values.size());
  double squares = 0;
  for (const double value : values) squares += (value - centre) * (value - centre);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

std::optional<double> relative_interval_of_mean(const std::vector<double>& values) {
  constexpr std::size_t kFewest = 8;
  if (values.size() < kFewest) return std::nullopt;
  const auto size = static_cast<std::size_t>(std::sqrt(static_cast<double>(values.size())));
  const std::size_t count = values.size() / size;
  const double* first = values.data() + (values.size() - size * count);
  std::vector<double> batches;
  for (std::size_t i = 0; i < count; ++i) batches.push_back(mean(first + i * size, size));
  const double centre = mean(batches.data(), count);
  if (!(centre > 0)) return std::nullopt;
  return student_t_975(static_cast<int>(count) - 1) * *standard_deviation(batches) /
         std::sqrt(static_cast<double>(count)) / centre;
}

std::optional<Interval> interval_of_median(std::vector<double> values) {
  // From there on the normal approximation is closer than one rank.
  constexpr std::size_t kExact = 1000;
  const std::size_t n = values.size();
  std::size_t rank = 0;
  if (n > kExact) {
    const auto count = static_cast<double>(n);
    rank = static_cast<std::size_t>(count / 2 - 0.98 * std::sqrt(count));
  } else {
    double probability = std::ldexp(1.0, -static_cast<int>(n));  // of exactly `rank` of n coins
    for (double below = probability; below <= 0.025;) {          // P(Binomial < rank + 1)
      ++rank;
      probability *= static_cast<double>(n - rank + 1) / static_cast<double>(rank);
      below += probability;
    }
  }
  if (rank == 0) return std::nullopt;
  std::sort(values.begin(), values.end());
  return Interval{.low = values[rank - 1], .high = values[n - rank]};
}

double student_t_975(int degrees_of_freedom) {
  constexpr std::array<double, 30> kTable = {
      12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
      2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
      2.080,  2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042};
  BATCHSWEEP_ASSERT(degrees_of_freedom >= 1);
  if (degrees_of_freedom <= static_cast<int>(kTable.size()))
    return kTable[static_cast<std::size_t>(degrees_of_freedom) - 1];
  // The first terms of the expansion in 1/v (Abramowitz and Stegun, 26.7.5): right to 0.0005 from
  // here on.
  constexpr double z = 1.959964, z3 = z * z * z, z5 = z3 * z * z;
  const double v = degrees_of_freedom;
  return z + (z3 + z) / (4 * v) + (5 * z5 + 16 * z3 + 3 * z) / (96 * v * v);
}

}  // namespace batchsweep::results
