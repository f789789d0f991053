// SPDX-License-Identifier: Apache-2.0
#include "results/report/shown_axes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

namespace batchsweep::results {
namespace {

// More values than these make a sentence unreadable: a column then.
constexpr std::size_t kMostInASentence = 6;

// value of the axis -> values of `by` that it comes with, both in the order of the groups.
std::string say_by(const Groups& groups, std::size_t axis, std::size_t by) {
  std::vector<std::pair<std::string, std::vector<std::string>>> said;
  for (const Group& group : groups.groups) {
    if (group.points.empty()) continue;
    const std::string value = groups.values.shown(axis, group.key[axis]);
    const std::string owner = groups.values.shown(by, group.key[by]);
    if (value.empty()) continue;
    auto it =
        std::find_if(said.begin(), said.end(), [&](const auto& s) { return s.first == value; });
    if (it == said.end()) it = said.insert(said.end(), {value, {}});
    if (std::find(it->second.begin(), it->second.end(), owner) == it->second.end())
      it->second.push_back(owner);
  }
  std::string text(report_axes()[axis].name);
  for (std::size_t i = 0; i < said.size(); ++i)
    text +=
        fmt::format("{} {} ({})", i > 0 ? "," : "", said[i].first, fmt::join(said[i].second, ", "));
  return text;
}

// Values of the axis among the groups that tables show, and the only one if there is one.
std::vector<std::uint32_t> values_of(const Groups& groups, std::size_t axis) {
  std::vector<std::uint32_t> values;
  std::vector<bool> seen(groups.values.count(axis));
  for (const Group& group : groups.groups) {
    if (group.points.empty() || seen[group.key[axis]]) continue;
    seen[group.key[axis]] = true;
    values.push_back(group.key[axis]);
  }
  return values;
}

}  // namespace

ShownAxes shown_axes(const Groups& groups) {
  ShownAxes shown;
  for (std::size_t axis = 0; axis < kAxisCount; ++axis) {
    const std::vector<std::uint32_t> values = values_of(groups, axis);
    if (values.size() < 2) {
      const std::string text = values.empty() ? "" : groups.values.shown(axis, values.front());
      if (!text.empty())
        shown.said_once.push_back(fmt::format("{} {}", report_axes()[axis].name, text));
      continue;
    }
    std::optional<std::size_t> owner;
    for (const std::size_t by : shown.columns) {
      const bool short_enough = groups.values.count(by) <= kMostInASentence;
      if (!owner && axis > kPrecision && short_enough && follows_from(groups, axis, by)) owner = by;
    }
    if (owner) {
      shown.said_once.push_back(say_by(groups, axis, *owner));
    } else {
      shown.columns.push_back(axis);
    }
  }
  return shown;
}

std::string axis_cell(const Groups& groups, std::size_t axis, const Group& group) {
  const std::string text = groups.values.shown(axis, group.key[axis]);
  return axis == kGpu && group.emulated ? text + " (emulated)" : text;
}

std::string group_name(const Groups& groups, const ShownAxes& axes, std::size_t group) {
  std::string name;
  for (const std::size_t axis : axes.columns) {
    const std::string cell = axis_cell(groups, axis, groups.groups[group]);
    if (!cell.empty()) name += (name.empty() ? "" : " ") + cell;
  }
  return name.empty() ? "all" : name;
}

}  // namespace batchsweep::results
