// SPDX-License-Identifier: Apache-2.0
#include "sweeps/table_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "base/units.hpp"

namespace batchsweep::sweeps {
namespace {

using Kind = TomlNode::Kind;
constexpr std::size_t kMaxNameBytes = 1024;

void expected(const TomlNode& node, const std::string& key, const std::string& what,
              Findings& findings) {
  findings.add(node.place, key, fmt::format("expected {}, found {}", what, describe(node)));
}

bool in_range(const TomlNode& node, const std::string& key, double low, double high,
              Findings& findings) {
  if (node.number >= low && node.number <= high) return true;
  const bool below = node.number < low;
  const std::string bound = fmt::format("{:.15g}", below ? low : high);
  expected(node, key, fmt::format("{} {}", below ? "at least" : "at most", bound), findings);
  return false;
}

bool has_control_characters(const std::string& text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; });
}

}  // namespace

void Findings::add(const Place& place, const std::string& key, const std::string& message) {
  all_.push_back(
      {place.file ? *place.file : std::string(), place.line, place.column, key, message});
}

void Findings::add(std::vector<Diagnostic> diagnostics) {
  for (Diagnostic& diagnostic : diagnostics) all_.push_back(std::move(diagnostic));
}

void Findings::throw_if_any(const std::vector<std::string>& files) {
  if (all_.empty()) return;
  const auto rank = [&](const Diagnostic& d) {
    const auto file = std::find(files.begin(), files.end(), d.file) - files.begin();
    return std::tuple(file, d.line, d.column);
  };
  std::stable_sort(all_.begin(), all_.end(),
                   [&](const Diagnostic& a, const Diagnostic& b) { return rank(a) < rank(b); });
  all_.erase(std::unique(all_.begin(), all_.end()), all_.end());
  throw ConfigError(std::move(all_));
}

std::string did_you_mean(std::string_view wanted, const std::vector<std::string>& known) {
  const std::vector<std::string> near = nearest_names(wanted, known);
  return near.empty() ? std::string() : fmt::format(", did you mean {}", fmt::join(near, " or "));
}

std::optional<std::int64_t> read_integer(const TomlNode& node, const std::string& key, double low,
                                         double high, Findings& findings) {
  if (node.kind != Kind::kInteger) {
    expected(node, key, "a whole number", findings);
    return std::nullopt;
  }
  return in_range(node, key, low, high, findings) ? std::optional(node.integer) : std::nullopt;
}

std::optional<double> read_number(const TomlNode& node, const std::string& key, double low,
                                  double high, Findings& findings) {
  if ((node.kind != Kind::kInteger && node.kind != Kind::kFloat) || std::isnan(node.number)) {
    expected(node, key, "a number", findings);
    return std::nullopt;
  }
  return in_range(node, key, low, high, findings) ? std::optional(node.number) : std::nullopt;
}

std::optional<bool> read_boolean(const TomlNode& node, const std::string& key, Findings& findings) {
  if (node.kind == Kind::kBoolean) return node.boolean;
  expected(node, key, "true or false", findings);
  return std::nullopt;
}

std::optional<std::string> read_word(const TomlNode& node, const std::string& key,
                                     std::span<const std::string_view> words, Findings& findings) {
  if (node.kind == Kind::kText && std::find(words.begin(), words.end(), node.text) != words.end())
    return node.text;
  const std::string near = did_you_mean(node.text, {words.begin(), words.end()});
  const char* one_of = words.size() > 1 ? "one of " : "";
  findings.add(node.place, key,
               fmt::format("expected {}{}, found {}{}", one_of, fmt::join(words, ", "),
                           describe(node), near));
  return std::nullopt;
}

std::optional<std::string> read_name(const TomlNode& node, const std::string& key,
                                     Findings& findings) {
  if (node.kind != Kind::kText) {
    expected(node, key, "text", findings);
  } else if (node.text.empty()) {
    findings.add(node.place, key, "expected text that is not empty");
  } else if (has_control_characters(node.text)) {
    findings.add(node.place, key, "control characters (such as a line break) are not allowed here");
  } else if (node.text.size() > kMaxNameBytes) {
    findings.add(node.place, key, fmt::format("longer than {} bytes", kMaxNameBytes));
  } else {
    return node.text;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> read_bytes(const TomlNode& node, const std::string& key,
                                        Findings& findings) {
  const std::optional<std::uint64_t> bytes =
      node.kind == Kind::kText ? parse_bytes(node.text) : std::nullopt;
  if (bytes) return bytes;
  if (node.kind == Kind::kText && is_too_large_size(node.text)) {
    findings.add(node.place, key,
                 fmt::format("{} is too large: less than 8388608 TiB is possible", describe(node)));
  } else {
    expected(node, key, R"(a size with a unit, such as "11 GiB" (2^30) or "11 GB" (10^9))",
             findings);
  }
  return std::nullopt;
}

std::optional<double> read_seconds(const TomlNode& node, const std::string& key,
                                   Findings& findings) {
  const std::optional<double> s =
      node.kind == Kind::kText ? parse_seconds(node.text) : std::nullopt;
  if (!s) expected(node, key, R"(a time with a unit, such as "30 s" or "10 min")", findings);
  return s;
}

TableReader::TableReader(const TomlNode& table, std::string path, Findings& findings)
    : table_(&table), path_(std::move(path)), findings_(&findings) {}

const TomlNode* TableReader::find(std::string_view key) {
  known_.emplace_back(key);
  return table_->find(key);
}

std::string TableReader::key(std::string_view name) const {
  return path_.empty() ? std::string(name) : fmt::format("{}.{}", path_, name);
}

std::optional<std::int64_t> TableReader::integer(std::string_view name, double low, double high) {
  const TomlNode* node = find(name);
  return node == nullptr ? std::nullopt : read_integer(*node, key(name), low, high, *findings_);
}

std::optional<double> TableReader::number(std::string_view name, double low, double high) {
  const TomlNode* node = find(name);
  return node == nullptr ? std::nullopt : read_number(*node, key(name), low, high, *findings_);
}

std::optional<bool> TableReader::boolean(std::string_view name) {
  const TomlNode* node = find(name);
  return node == nullptr ? std::nullopt : read_boolean(*node, key(name), *findings_);
}

std::optional<std::string> TableReader::word(std::string_view name,
                                             std::span<const std::string_view> words) {
  const TomlNode* node = find(name);
  return node == nullptr ? std::nullopt : read_word(*node, key(name), words, *findings_);
}

std::optional<std::string> TableReader::name(std::string_view name) {
  const TomlNode* node = find(name);
  return node == nullptr ? std::nullopt : read_name(*node, key(name), *findings_);
}

std::optional<std::uint64_t> TableReader::bytes(std::string_view name) {
  const TomlNode* node = find(name);
  return node == nullptr ? std::nullopt : read_bytes(*node, key(name), *findings_);
}

std::optional<double> TableReader::seconds(std::string_view name) {
  const TomlNode* node = find(name);
  return node == nullptr ? std::nullopt : read_seconds(*node, key(name), *findings_);
}

std::vector<std::string> TableReader::names(std::string_view name) {
  std::vector<std::string> result;
  const TomlNode* node = find(name);
  if (node == nullptr) return result;
  const auto add = [&](const TomlNode& item) {
    if (auto text = read_name(item, key(name), *findings_)) result.push_back(std::move(*text));
  };
  if (node->kind == Kind::kArray) {
    for (const TomlNode& item : node->items) add(item);
  } else {
    add(*node);
  }
  return result;
}

std::optional<TableReader> TableReader::table(std::string_view name) {
  const TomlNode* node = find(name);
  if (node == nullptr) return std::nullopt;
  if (node->kind == Kind::kTable) return TableReader(*node, key(name), *findings_);
  expected(*node, key(name), "a table", *findings_);
  return std::nullopt;
}

std::vector<TableReader> TableReader::tables(std::string_view name) {
  std::vector<TableReader> result;
  const TomlNode* node = find(name);
  if (node == nullptr) return result;
  const auto add = [&](const TomlNode& item) {
    if (item.kind == Kind::kTable) {
      result.emplace_back(item, key(name), *findings_);
    } else {
      expected(item, key(name), fmt::format("tables, written [[{}]]", key(name)), *findings_);
    }
  };
  if (node->kind == Kind::kArray) {
    for (const TomlNode& item : node->items) add(item);
  } else {
    add(*node);
  }
  return result;
}

void TableReader::missing(std::string_view name, const std::string& what) {
  findings_->add(table_->place, key(name), "missing: " + what);
}

void TableReader::refuse_unknown_keys() {
  for (const TomlMember& member : table_->members) {
    if (std::find(known_.begin(), known_.end(), member.key) != known_.end()) continue;
    std::string near = did_you_mean(member.key, known_);
    if (near.empty()) {
      std::vector<std::string> sorted = known_;
      std::sort(sorted.begin(), sorted.end());
      near = fmt::format("; known here: {}", fmt::join(sorted, ", "));
    }
    findings_->add(member.key_place, key(member.key), "unknown key" + near);
  }
}

}  // namespace batchsweep::sweeps
