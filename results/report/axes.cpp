// SPDX-License-Identifier: Apache-2.0
#include "results/report/axes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <optional>
#include <unordered_set>

#include "base/error.hpp"
#include "base/text.hpp"

namespace batchsweep::results {
namespace {

void append_integer(std::int64_t value, std::string& text) {
  std::array<char, 20> digits;
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  text.append(digits.data(), end);
}

template <auto member>
void append_member(const TrialRecord& trial, std::string& text) {
  const auto& value = trial.*member;
  using Value = std::decay_t<decltype(value)>;
  if constexpr (std::is_same_v<Value, std::string>) {
    text += value;
  } else if constexpr (std::is_same_v<Value, bool>) {
    text += value ? "true" : "false";
  } else if constexpr (std::is_same_v<Value, Number>) {
    if (value && !std::isnan(*value)) append_integer(std::llround(*value), text);
  } else {
    append_integer(value, text);
  }
}

// Not started rows have no device: the type asked for stands in.
void append_gpu(const TrialRecord& trial, std::string& text) {
  text += trial.gpu.empty() ? trial.gpu_requested : trial.gpu;
}

void append_image_size(const TrialRecord& trial, std::string& text) {
  append_member<&TrialRecord::image_height>(trial, text);
  if (trial.image_width && trial.image_width != trial.image_height) {
    text += 'x';
    append_member<&TrialRecord::image_width>(trial, text);
  }
}

// Narrower behind wider, when no sweep file says otherwise.
constexpr std::array<std::string_view, 5> kPrecisions = {"fp32", "tf32", "fp16", "bf16",
                                                         "bf16-true"};

std::optional<double> as_number(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// How --only reads the column of an axis.
auto column_of(const std::string& axis) -> void (*)(const TrialRecord&, std::string&) {
  for (const ReportAxis& known : report_axes()) {
    if (known.name == axis) return known.append;
  }
  if (axis == "batch_size") return append_member<&TrialRecord::batch_size>;
  if (axis == "global_batch_size") return append_member<&TrialRecord::global_batch_size>;
  throw UsageError(fmt::format(
      "--only {}: recorded rows have no such column; use batch_size or an axis of the tables",
      axis));
}

// "text:/a/b.txt" -> "text:b.txt"; what names no file stays.
std::string without_folder(const std::string& data) {
  const std::size_t colon = data.find(':'), slash = data.find_last_not_of('/');
  if (colon == std::string::npos || slash == std::string::npos) return data;
  const std::size_t folder = data.rfind('/', slash);
  if (folder == std::string::npos || folder < colon) return data;
  return data.substr(0, colon + 1) + data.substr(folder + 1);
}

// Numbers by size, before text by letters.
bool naturally_before(const std::string& a, const std::string& b) {
  const auto x = as_number(a), y = as_number(b);
  if (x && y) return *x < *y;
  if (x.has_value() != y.has_value()) return x.has_value();
  return a < b;
}

}  // namespace

const std::array<ReportAxis, kAxisCount>& report_axes() {
  using R = TrialRecord;
  using enum AxisKind;
  static constexpr std::array<ReportAxis, kAxisCount> axes = {{
      {"gpu", kText, append_gpu},
      {"model", kText, append_member<&R::model>},
      {"precision", kText, append_member<&R::precision>},
      {"activation_checkpointing", kFlag, append_member<&R::activation_checkpointing>},
      {"data", kText, append_member<&R::data>},
      {"device_name", kText, append_member<&R::device_name>},
      {"env", kText, append_member<&R::env>},
      {"gradient_accumulation_steps", kNumber, append_member<&R::gradient_accumulation_steps>},
      {"image_size", kText, append_image_size},
      {"memory_format", kText, append_member<&R::memory_format>},
      {"num_nodes", kText, append_member<&R::num_nodes>},
      {"optimizer", kText, append_member<&R::optimizer>},
      {"origin", kText, append_member<&R::origin>},
      {"pinned_to", kText, append_member<&R::pinned_to>},
      {"placement", kText, append_member<&R::placement>},
      {"runtime", kText, append_member<&R::runtime>},
      {"seed", kNumber, append_member<&R::seed>},
      {"sequence_length", kNumber, append_member<&R::sequence_length>},
      {"torch_version", kText, append_member<&R::torch_version>},
      {"world_size", kNumber, append_member<&R::world_size>},
  }};
  return axes;
}

AxisOrder axis_order(const sweeps::SweepSpec& sweep) {
  AxisOrder order;
  for (const sweeps::GridBlock& block : sweep.grid) {
    AxisOrder of_block;
    for (const sweeps::Axis& axis : block.axes) {
      const auto is_this = [&](const ReportAxis& known) { return known.name == axis.name; };
      if (std::ranges::none_of(report_axes(), is_this))
        continue;  // batches: by size, and a million
      std::vector<std::string>& values = of_block[axis.name];
      values.insert(values.end(), axis.values.begin(), axis.values.end());
    }
    merge_order(of_block, order);
  }
  return order;
}

void merge_order(const AxisOrder& more, AxisOrder& order) {
  for (const auto& [axis, values] : more) {
    std::vector<std::string>& known = order[axis];
    std::unordered_set<std::string> seen(known.begin(), known.end());
    for (const std::string& value : values) {
      if (seen.insert(value).second) known.push_back(value);
    }
  }
}

AxisKey AxisValues::intern(const TrialRecord& trial) {
  AxisKey key{};
  for (std::size_t axis = 0; axis < kAxisCount; ++axis) {
    buffer_.clear();
    report_axes()[axis].append(trial, buffer_);
    std::vector<std::string>& values = values_[axis];
    if (last_[axis] < values.size() && values[last_[axis]] == buffer_) {
      key[axis] = last_[axis];
      continue;
    }
    const auto [it, added] =
        index_[axis].try_emplace(buffer_, static_cast<std::uint32_t>(values.size()));
    if (added) values.push_back(buffer_);
    key[axis] = it->second;
  }
  last_ = key;
  return key;
}

std::string AxisValues::shown(std::size_t axis, std::uint32_t value) const {
  const std::string& whole = text(axis, value);
  if (axis != kData) return whole;
  std::string last = without_folder(whole);
  const auto same = std::ranges::count_if(
      values_[axis], [&](const std::string& other) { return without_folder(other) == last; });
  return same == 1 ? last : whole;
}

Json AxisValues::json(std::size_t axis, const AxisKey& key) const {
  const std::string& value = text(axis, key);
  switch (report_axes()[axis].kind) {
    case AxisKind::kText:
      return value.empty() ? Json() : Json(value);
    case AxisKind::kFlag:
      return value == "true";
    case AxisKind::kNumber: {
      const auto number = as_number(value);
      return number ? Json(std::llround(*number)) : Json();
    }
  }
  return {};
}

std::array<std::vector<std::uint32_t>, kAxisCount> AxisValues::ranks(const AxisOrder& order) const {
  std::array<std::vector<std::uint32_t>, kAxisCount> ranks;
  for (std::size_t axis = 0; axis < kAxisCount; ++axis) {
    const std::vector<std::string>& values = values_[axis];
    std::unordered_map<std::string_view, std::size_t> places;
    if (const auto known = order.find(report_axes()[axis].name); known != order.end()) {
      for (const std::string& value : known->second) places.try_emplace(value, places.size());
    } else if (axis == kPrecision) {
      for (const std::string_view value : kPrecisions) places.try_emplace(value, places.size());
    }
    const auto place = [&](std::uint32_t v) {
      const auto it = places.find(values[v]);
      return it == places.end() ? places.size() : it->second;
    };
    std::vector<std::uint32_t> sorted(values.size());
    std::iota(sorted.begin(), sorted.end(), 0U);
    std::sort(sorted.begin(), sorted.end(), [&](std::uint32_t a, std::uint32_t b) {
      const std::size_t x = place(a), y = place(b);
      return x != y ? x < y : naturally_before(values[a], values[b]);
    });
    ranks[axis].resize(values.size());
    for (std::size_t i = 0; i < sorted.size(); ++i)
      ranks[axis][sorted[i]] = static_cast<std::uint32_t>(i);
  }
  return ranks;
}

RowFilter::RowFilter(const std::vector<std::vector<sweeps::AxisMatch>>& filters) {
  for (const std::vector<sweeps::AxisMatch>& lines : filters) {
    std::vector<Line>& filter = filters_.emplace_back();
    for (const sweeps::AxisMatch& match : lines) filter.push_back({column_of(match.axis), match});
  }
}

bool RowFilter::matches(const TrialRecord& trial, const Line& line) {
  std::string text;
  line.append(trial, text);
  if (line.match.from || line.match.to) {
    const auto number = as_number(text);
    return number && (!line.match.from || *number >= static_cast<double>(*line.match.from)) &&
           (!line.match.to || *number <= static_cast<double>(*line.match.to));
  }
  return std::any_of(line.match.patterns.begin(), line.match.patterns.end(),
                     [&](const std::string& p) { return matches_pattern(text, p); });
}

bool RowFilter::matches(const TrialRecord& trial) const {
  if (filters_.empty()) return true;
  return std::any_of(filters_.begin(), filters_.end(), [&](const std::vector<Line>& filter) {
    return std::all_of(filter.begin(), filter.end(),
                       [&](const Line& line) { return matches(trial, line); });
  });
}

}  // namespace batchsweep::results
