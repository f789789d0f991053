// SPDX-License-Identifier: Apache-2.0
#include "sweeps/toml_document.hpp"

#include <fmt/format.h>

#include <toml++/toml.h>
#include <algorithm>
#include <sstream>

#include "base/error.hpp"
#include "base/text.hpp"

namespace batchsweep::sweeps {
namespace {

using File = std::shared_ptr<const std::string>;

Place place_of(const toml::source_region& source, const File& file) {
  return {file, static_cast<int>(source.begin.line), static_cast<int>(source.begin.column)};
}

TomlNode convert(const toml::node& node, const File& file);

void convert_members(const toml::table& table, const File& file, TomlNode& result) {
  for (const auto& [key, value] : table) {
    result.members.push_back(
        {std::string(key.str()), place_of(key.source(), file), convert(value, file)});
  }
  // The library sorts by name.
  std::stable_sort(result.members.begin(), result.members.end(),
                   [](const TomlMember& a, const TomlMember& b) {
                     return std::pair(a.key_place.line, a.key_place.column) <
                            std::pair(b.key_place.line, b.key_place.column);
                   });
}

TomlNode convert(const toml::node& node, const File& file) {
  using Kind = TomlNode::Kind;
  TomlNode result;
  result.place = place_of(node.source(), file);
  if (const auto* table = node.as_table()) {
    convert_members(*table, file, result);
  } else if (const auto* array = node.as_array()) {
    result.kind = Kind::kArray;
    result.items.reserve(array->size());
    for (const toml::node& item : *array) result.items.push_back(convert(item, file));
  } else if (const auto* text = node.as_string()) {
    result.kind = Kind::kText;
    result.text = text->get();
  } else if (const auto* integer = node.as_integer()) {
    result.kind = Kind::kInteger;
    result.integer = integer->get();
    result.number = static_cast<double>(result.integer);
  } else if (const auto* number = node.as_floating_point()) {
    result.kind = Kind::kFloat;
    result.number = number->get();
  } else if (const auto* boolean = node.as_boolean()) {
    result.kind = Kind::kBoolean;
    result.boolean = boolean->get();
  } else {
    result.kind = Kind::kDate;
  }
  return result;
}

[[noreturn]] void fail(const std::string& file, int line, int column, const std::string& message) {
  throw ConfigError({Diagnostic{file, line, column, "", message}});
}

void check_utf8(const std::string& text, const std::string& file) {
  const std::optional<std::size_t> at = first_invalid_utf8(text);
  if (!at) return;
  const std::string_view before(text.data(), *at);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t start = before.rfind('\n');
  const std::size_t column = *at - (start == std::string_view::npos ? 0 : start + 1) + 1;
  fail(file, static_cast<int>(line), static_cast<int>(column),
       fmt::format("not UTF-8 (byte 0x{:02X}): save the file as UTF-8",
                   static_cast<unsigned char>(text[*at])));
}

// Keys of "a.b.\"c.d\"=..." in front of the equals sign; 0: there is none.
std::size_t depth_of(const std::string& text) {
  std::size_t depth = 1;
  char quote = 0;
  for (const char c : text) {
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '.') {
      ++depth;
    } else if (c == '=') {
      return depth;
    }
  }
  return 0;
}

void put(TomlNode& table, TomlMember& member, std::size_t depth, const std::string& name) {
  TomlNode* existing = table.find(member.key);
  if (existing == nullptr) {
    table.members.push_back(member);
  } else if (depth == 1) {
    *existing = member.value;
  } else if (existing->kind == TomlNode::Kind::kTable) {
    put(*existing, member.value.members.front(), depth - 1, name);
  } else if (existing->kind == TomlNode::Kind::kArray) {
    for (TomlNode& item : existing->items) {
      if (item.kind != TomlNode::Kind::kTable)
        fail(name, 0, 0, fmt::format("{} is no table", member.key));
      put(item, member.value.members.front(), depth - 1, name);
    }
  } else {
    fail(name, 0, 0, fmt::format("{} is no table", member.key));
  }
}

void forget_places(TomlNode& node) {
  node.place.line = node.place.column = 0;
  for (TomlNode& item : node.items) forget_places(item);
  for (TomlMember& member : node.members) {
    member.key_place.line = member.key_place.column = 0;
    forget_places(member.value);
  }
}

}  // namespace

const TomlNode* TomlNode::find(std::string_view key) const {
  const auto it = std::find_if(members.begin(), members.end(),
                               [&](const TomlMember& m) { return m.key == key; });
  return it == members.end() ? nullptr : &it->value;
}

TomlNode* TomlNode::find(std::string_view key) {
  return const_cast<TomlNode*>(static_cast<const TomlNode*>(this)->find(key));
}

TomlNode parse_toml(const std::string& text, const std::string& file) {
  check_utf8(text, file);
  try {
    return convert(toml::parse(text), std::make_shared<const std::string>(file));
  } catch (const toml::parse_error& error) {
    const toml::source_position at = error.source().begin;
    fail(file, static_cast<int>(at.line), static_cast<int>(at.column),
         std::string(error.description()));
  }
}

void set_toml_value(TomlNode& document, const std::string& text) {
  const std::string name = "--set " + text;
  const std::size_t depth = depth_of(text);
  if (depth == 0 || text.find('\n') != std::string::npos) {
    fail(name, 0, 0, "expected key=value in one line, for example trial.timed_steps=50");
  }
  TomlNode set;
  try {
    set = parse_toml(text, name);
  } catch (const ConfigError& error) {
    fail(name, 0, 0,
         error.diagnostics().front().message +
             " (text needs quotes: --set 'trial.data=\"synthetic\"')");
  }
  forget_places(set);
  put(document, set.members.front(), depth, name);
}

std::string describe(const TomlNode& node) {
  switch (node.kind) {
    case TomlNode::Kind::kTable:
      return "a table";
    case TomlNode::Kind::kArray:
      return "a list";
    case TomlNode::Kind::kText:
      return fmt::format("\"{}\"", node.text);
    case TomlNode::Kind::kInteger:
      return fmt::format("{}", node.integer);
    case TomlNode::Kind::kFloat:
      return fmt::format("{}", node.number);
    case TomlNode::Kind::kBoolean:
      return node.boolean ? "true" : "false";
    case TomlNode::Kind::kDate:
      return "a date";
  }
  return "";
}

}  // namespace batchsweep::sweeps
