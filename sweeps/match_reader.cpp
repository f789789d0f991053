// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "sweeps/read_sections.hpp"

namespace batchsweep::sweeps {
namespace {

using Kind = TomlNode::Kind;

bool is_pattern(const std::string& text) { return text.find_first_of("*?") != std::string::npos; }

// A value is checked as the axis itself would be, unless it is a pattern; what is not available yet
// may be excluded.
void read_value(const AxisInfo& axis, const TomlNode& node, const std::string& key,
                ReadContext& context, AxisMatch& line) {
  if (node.kind == Kind::kText && is_pattern(node.text)) {
    line.patterns.push_back(node.text);
    return;
  }
  ReadContext lenient{context.findings, true, context.folder, context.typed_folder,
                      context.file_hashes};
  if (auto value = read_axis_value(axis, node, key, lenient))
    line.patterns.push_back(std::move(*value));
}

void read_open_range(const AxisInfo& axis, TableReader table, AxisMatch& line) {
  if (axis.kind != ValueKind::kInteger) {
    table.findings().add(table.place(), table.path(),
                         "a range { from, to } is for whole numbers only");
    return;
  }
  line.from = table.integer("from", axis.low, axis.high);
  line.to = table.integer("to", axis.low, axis.high);
  table.refuse_unknown_keys();
  if (table.node().members.empty())
    table.missing("from", "an open range is { from }, { to } or { from, to }");
  if (line.from && line.to && *line.from > *line.to) {
    table.findings().add(table.place(), table.key("from"),
                         fmt::format("{} is larger than to = {}", *line.from, *line.to));
  }
}

}  // namespace

PlacedMatches read_matches(TableReader table, ReadContext& context) {
  PlacedMatches result{table.place(), table.path(), {}};
  for (const AxisInfo& axis : axis_table()) {
    const TomlNode* node = table.find(axis.name);
    if (node == nullptr) continue;
    AxisMatch line{.axis = std::string(axis.name), .patterns = {}, .from = {}, .to = {}};
    const std::string key = table.key(axis.name);
    if (node->kind == Kind::kTable && axis.kind != ValueKind::kEnv) {
      read_open_range(axis, TableReader(*node, key, context.findings), line);
    } else if (node->kind == Kind::kArray) {
      for (const TomlNode& item : node->items) read_value(axis, item, key, context, line);
      if (node->items.empty())
        context.findings.add(node->place, key,
                             "an empty list matches nothing: give at least one value");
    } else {
      read_value(axis, *node, key, context, line);
    }
    result.lines.push_back(std::move(line));
  }
  table.refuse_unknown_keys();
  return result;
}

}  // namespace batchsweep::sweeps
