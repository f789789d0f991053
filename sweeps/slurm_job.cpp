// SPDX-License-Identifier: Apache-2.0
#include "sweeps/slurm_job.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

namespace batchsweep::sweeps {
namespace {

// "1:02:03" -> {1, 2, 3}; empty: something is no number.
std::vector<double> numbers_between_colons(std::string_view text) {
  std::vector<double> numbers;
  for (;;) {
    const std::size_t end = std::min(text.find(':'), text.size());
    std::uint32_t number = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + end, number);
    if (end == 0 || error != std::errc{} || stop != text.data() + end) return {};
    numbers.push_back(number);
    if (end == text.size()) return numbers;
    text.remove_prefix(end + 1);
  }
}

}  // namespace

std::optional<double> parse_slurm_time(std::string_view text) {
  const std::size_t dash = text.find('-');
  const bool has_days = dash != std::string_view::npos;
  const std::vector<double> days =
      has_days ? numbers_between_colons(text.substr(0, dash)) : std::vector<double>{0};
  const std::vector<double> rest = numbers_between_colons(has_days ? text.substr(dash + 1) : text);
  if (days.size() != 1 || rest.empty() || rest.size() > 3) return std::nullopt;
  // Behind days the first number counts hours; without days the last but one counts minutes.
  const double first_unit = has_days || rest.size() == 3 ? 3600 : 60;
  double s = days.front() * 86400, unit = first_unit;
  for (const double number : rest) {
    s += number * unit;
    unit /= 60;
  }
  return s;
}

std::string format_slurm_time(double s) {
  const auto whole = static_cast<std::int64_t>(std::ceil(s));
  const std::int64_t days = whole / 86400;
  const std::string clock =
      fmt::format("{:02}:{:02}:{:02}", whole % 86400 / 3600, whole % 3600 / 60, whole % 60);
  return days > 0 ? fmt::format("{}-{}", days, clock) : clock;
}

}  // namespace batchsweep::sweeps
