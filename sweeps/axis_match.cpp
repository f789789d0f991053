// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/text.hpp"
#include "sweeps/axis_table.hpp"
#include "sweeps/grid.hpp"

namespace batchsweep::sweeps {
namespace {

bool matches_line(const TrialSpec& spec, const AxisMatch& line) {
  const std::string value = axis_value(spec, line.axis);
  if (line.from || line.to) {
    const std::optional<std::int64_t> number = whole_number(value);
    return number && (!line.from || *number >= *line.from) && (!line.to || *number <= *line.to);
  }
  return std::any_of(line.patterns.begin(), line.patterns.end(), [&](const std::string& pattern) {
    return value == pattern || matches_pattern(value, pattern);
  });
}

// "8..64", "8..", "..64" on an axis of whole numbers.
bool read_range(const std::string& text, AxisMatch& line) {
  const std::size_t dots = text.find("..");
  if (dots == std::string::npos) return false;
  const std::string from = text.substr(0, dots), to = text.substr(dots + 2);
  line.from = whole_number(from);
  line.to = whole_number(to);
  return (line.from || from.empty()) && (line.to || to.empty()) && (line.from || line.to);
}

AxisMatch& line_of(std::vector<AxisMatch>& lines, const std::string& axis) {
  const auto it = std::find_if(lines.begin(), lines.end(),
                               [&](const AxisMatch& line) { return line.axis == axis; });
  if (it != lines.end()) return *it;
  return lines.emplace_back(AxisMatch{.axis = axis, .patterns = {}, .from = {}, .to = {}});
}

void read_condition(const std::string& condition, std::string_view option,
                    std::vector<AxisMatch>& lines) {
  const std::size_t equals = condition.find('=');
  if (equals == std::string::npos || equals == 0) {
    throw UsageError(fmt::format("{} {}: expected axis=value, for example model=bert*,gpu=H100*",
                                 option, condition));
  }
  const std::string axis = condition.substr(0, equals), value = condition.substr(equals + 1);
  const AxisInfo* info = find_axis(axis);
  if (info == nullptr) {
    const std::vector<std::string> near = nearest_names(axis, axis_names());
    throw UsageError(
        fmt::format("{} {}: unknown axis {}{}", option, condition, axis,
                    near.empty() ? "" : fmt::format(", did you mean {}", fmt::join(near, " or "))));
  }
  AxisMatch& line = line_of(lines, axis);
  if (info->kind == ValueKind::kInteger && value.find("..") != std::string::npos) {
    if (!line.patterns.empty() || !read_range(value, line)) {
      throw UsageError(
          fmt::format("{} {}: expected a range like 8..64, 8.. or ..64, alone", option, condition));
    }
  } else {
    line.patterns.push_back(value);
  }
}

}  // namespace

bool matches(const TrialSpec& spec, const std::vector<AxisMatch>& lines) {
  return std::all_of(lines.begin(), lines.end(),
                     [&](const AxisMatch& line) { return matches_line(spec, line); });
}

std::vector<AxisMatch> parse_only(const std::string& text, std::string_view option) {
  std::vector<AxisMatch> lines;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    read_condition(text.substr(at, comma - at), option, lines);
    at = comma + 1;
  }
  return lines;
}

std::string axis_value(const TrialSpec& spec, const std::string& axis) {
  const AxisInfo* info = find_axis(axis);
  return info == nullptr ? std::string() : info->get(spec);
}

}  // namespace batchsweep::sweeps
