// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "base/json.hpp"
#include "sweeps/not_yet.hpp"
#include "sweeps/read_sections.hpp"
#include "sweeps/reserved_variables.hpp"

namespace batchsweep::sweeps {
namespace {

using Kind = TomlNode::Kind;
constexpr std::int64_t kMaxValues = 10'000'000;

std::optional<AxisValue> read_image_size(const AxisInfo& axis, const TomlNode& node,
                                         const std::string& key, Findings& findings) {
  if (node.kind == Kind::kInteger) {
    const auto side = read_integer(node, key, axis.low, axis.high, findings);
    return side ? std::optional(fmt::format("{}", *side)) : std::nullopt;
  }
  const std::size_t cross = node.text.find('x');
  if (node.kind == Kind::kText && cross != std::string::npos) {
    const auto height = whole_number(node.text.substr(0, cross)),
               width = whole_number(node.text.substr(cross + 1));
    const auto fits = [&](const auto& side) { return side && *side >= 1 && *side <= 65536; };
    if (fits(height) && fits(width)) return fmt::format("{}x{}", *height, *width);
  }
  findings.add(
      node.place, key,
      fmt::format(R"(expected a side such as 224, or "HEIGHTxWIDTH" such as "480x640", found {})",
                  describe(node)));
  return std::nullopt;
}

// Why a trial would not be given this variable; "" where it would.
std::string_view why_not_given(std::string_view name) {
  if (name.empty() ||
      name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") !=
          std::string_view::npos) {
    return "is no name of an environment variable";
  }
  if (is_launcher_variable(name)) return "belongs to the launcher: a trial never sees it";
  if (is_set_by_agent(name) || name.starts_with("BATCHSWEEP_"))
    return "belongs to batchsweep, which sets it itself";
  return "";
}

std::optional<AxisValue> read_env(const TomlNode& node, const std::string& key,
                                  Findings& findings) {
  if (node.kind != Kind::kTable) {
    findings.add(node.place, key,
                 fmt::format("expected a table such as {{ NCCL_ALGO = \"Ring\" }}, found {}",
                             describe(node)));
    return std::nullopt;
  }
  std::map<std::string, std::string> env;
  bool good = true;
  for (const TomlMember& member : node.members) {
    const std::string full_key = key + "." + member.key;
    const std::string_view why = why_not_given(member.key);
    if (member.value.kind != Kind::kText ||
        member.value.text.find_first_of(std::string("\0\n", 2)) != std::string::npos) {
      findings.add(member.value.place, full_key,
                   fmt::format("expected text in one line, found {}", describe(member.value)));
      good = false;
    } else if (!why.empty()) {
      findings.add(member.key_place, full_key, std::string(why));
      good = false;
    } else {
      env.emplace(member.key, member.value.text);
    }
  }
  if (!good) return std::nullopt;
  return env.empty() ? std::string() : dump(Json(env));
}

std::optional<AxisValue> read_word_or_number(const AxisInfo& axis, std::string_view word,
                                             const TomlNode& node, const std::string& key,
                                             Findings& findings) {
  if (node.kind == Kind::kText) {
    if (node.text == word) return node.text;
    findings.add(node.place, key,
                 fmt::format("expected \"{}\" or a number, found {}", word, describe(node)));
    return std::nullopt;
  }
  if (axis.kind == ValueKind::kNumNodes) {
    const auto value = read_integer(node, key, axis.low, axis.high, findings);
    return value ? std::optional(fmt::format("{}", *value)) : std::nullopt;
  }
  const auto value = read_number(node, key, axis.low, axis.high, findings);
  return value ? std::optional(fmt::format("{}", *value)) : std::nullopt;
}

template <class T>
std::optional<AxisValue> to_value(const std::optional<T>& value, const char* unit = "") {
  return value ? std::optional(fmt::format("{}{}", *value, unit)) : std::nullopt;
}

std::optional<AxisValue> read_plain(const AxisInfo& axis, const TomlNode& node,
                                    const std::string& key, ReadContext& context) {
  Findings& findings = context.findings;
  switch (axis.kind) {
    case ValueKind::kInteger:
      return to_value(read_integer(node, key, axis.low, axis.high, findings));
    case ValueKind::kNumber:
      return to_value(read_number(node, key, axis.low, axis.high, findings));
    case ValueKind::kBoolean:
      return to_value(read_boolean(node, key, findings));
    case ValueKind::kWord:
      return read_word(node, key, axis.words, findings);
    case ValueKind::kName: {
      const auto name = read_name(node, key, findings);
      return name && axis.name == "data" ? read_data_source(*name, node.place, key, context) : name;
    }
    case ValueKind::kSeconds:
      return to_value(read_seconds(node, key, findings), " s");
    case ValueKind::kImageSize:
      return read_image_size(axis, node, key, findings);
    case ValueKind::kNumNodes:
      return read_word_or_number(axis, "min", node, key, findings);
    case ValueKind::kClip:
      return read_word_or_number(axis, "none", node, key, findings);
    case ValueKind::kEnv:
      return read_env(node, key, findings);
  }
  return std::nullopt;
}

struct Range {
  std::int64_t from, to, by;
  bool multiply;
};

std::optional<Range> read_range(const AxisInfo& axis, TableReader table) {
  const auto from = table.integer("from", axis.low, axis.high),
             to = table.integer("to", axis.low, axis.high);
  const auto factor = table.integer("factor", 2, 1e9), step = table.integer("step", 1, axis.high);
  const bool by = table.node().find("factor") != nullptr,
             also_by = table.node().find("step") != nullptr;
  for (const char* end : {"from", "to"}) {
    if (table.node().find(end) == nullptr)
      table.missing(end, "a range is { from, to, factor } or { from, to, step }");
  }
  if (by == also_by) table.missing("factor", "a range takes either factor or step");
  table.refuse_unknown_keys();
  if (!from || !to || by == also_by || (!factor && !step)) return std::nullopt;
  if (*from > *to) {
    table.findings().add(table.place(), table.key("from"),
                         fmt::format("{} is larger than to = {}", *from, *to));
    return std::nullopt;
  }
  if (step && (*to - *from) / *step >= kMaxValues) {
    table.findings().add(
        table.place(), table.key("step"),
        fmt::format("{} values: at most {} are allowed", (*to - *from) / *step + 1, kMaxValues));
    return std::nullopt;
  }
  return Range{*from, *to, factor ? *factor : *step, factor.has_value()};
}

std::vector<AxisValue> values_of(const Range& range) {
  std::vector<AxisValue> values;
  std::int64_t value = range.from;
  while (true) {
    values.push_back(fmt::format("{}", value));
    const bool last = range.multiply ? value > range.to / range.by : value > range.to - range.by;
    if (last) return values;
    value = range.multiply ? value * range.by : value + range.by;
  }
}

// "largest" or { largest = true, multiple_of, max }: checked, then refused, because the search does
// not exist yet.
bool is_search(const AxisInfo& axis, const TomlNode& node, const std::string& key,
               ReadContext& context) {
  if (axis.name != "batch_size") return false;
  if (node.kind == Kind::kTable && node.find("largest") != nullptr) {
    TableReader table(node, key, context.findings);
    if (table.boolean("largest") == false)
      context.findings.add(node.place, key + ".largest", "expected true");
    (void)table.integer("multiple_of", 1, axis.high);
    (void)table.integer("max", 1, axis.high);
    table.refuse_unknown_keys();
  } else if (node.kind != Kind::kText || node.text != "largest") {
    return false;
  }
  refuse_not_yet("largest", "largest", context.rehearsal, node.place, key, context.findings);
  return true;
}

bool is_adaptive(const AxisInfo& axis, const TomlNode& node, const std::string& key,
                 ReadContext& context) {
  if (axis.name != "timed_steps" || node.kind != Kind::kText || node.text != "adaptive")
    return false;
  refuse_not_yet("adaptive", "adaptive", context.rehearsal, node.place, key, context.findings);
  return true;
}

}  // namespace

std::optional<AxisValue> read_axis_value(const AxisInfo& axis, const TomlNode& node,
                                         const std::string& key, ReadContext& context) {
  if (is_search(axis, node, key, context) || is_adaptive(axis, node, key, context))
    return std::nullopt;
  std::optional<AxisValue> value = read_plain(axis, node, key, context);
  if (value)
    refuse_not_yet(axis.name, *value, context.rehearsal, node.place, key, context.findings);
  return value;
}

std::vector<AxisValue> read_axis_values(const AxisInfo& axis, const TomlNode& node,
                                        const std::string& key, ReadContext& context) {
  const bool is_range = axis.kind == ValueKind::kInteger && node.kind == Kind::kTable &&
                        node.find("largest") == nullptr;
  if (is_range) {
    const std::optional<Range> range = read_range(axis, TableReader(node, key, context.findings));
    if (!range) return {};
    std::vector<AxisValue> values = values_of(*range);
    refuse_not_yet(axis.name, values.back(), context.rehearsal, node.place, key, context.findings);
    return values;
  }
  std::vector<AxisValue> values;
  std::unordered_set<AxisValue> seen;
  const auto add = [&](const TomlNode& item) {
    auto value = read_axis_value(axis, item, key, context);
    if (value && seen.insert(*value).second) values.push_back(std::move(*value));
  };
  if (node.kind != Kind::kArray) {
    add(node);
  } else if (node.items.empty()) {
    context.findings.add(node.place, key,
                         "an empty list makes an empty grid: give at least one value");
  } else {
    for (const TomlNode& item : node.items) add(item);
  }
  return values;
}

}  // namespace batchsweep::sweeps
