// SPDX-License-Identifier: Apache-2.0
// A TOML text as a plain tree with the place of every key and value. The only seam to the TOML
// library; knows nothing of sweeps.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace batchsweep::sweeps {

// Where something stands; line and column count from 1, 0 = the file as a whole.
struct Place {
  std::shared_ptr<const std::string> file;
  int line = 0, column = 0;
};

struct TomlMember;
struct TomlNode {
  enum class Kind { kTable, kArray, kText, kInteger, kFloat, kBoolean, kDate };
  Kind kind = Kind::kTable;
  Place place;
  std::string text;
  std::int64_t integer = 0;
  double number = 0;  // of kInteger too
  bool boolean = false;
  std::vector<TomlNode> items;      // of an array
  std::vector<TomlMember> members;  // of a table, in the order of the file

  [[nodiscard]] const TomlNode* find(std::string_view key) const;
  [[nodiscard]] TomlNode* find(std::string_view key);
};
struct TomlMember {
  std::string key;
  Place key_place;
  TomlNode value;
};

// Throws ConfigError with one finding: the first syntax error (the library stops there), or the
// first byte that is not UTF-8.
[[nodiscard]] TomlNode parse_toml(const std::string& text, const std::string& file);

// `text` is "trial.timed_steps=50": puts the value into the document, in every table of an array of
// tables. Findings about it name "--set trial.timed_steps=50". Throws ConfigError: no key, value
// that is not TOML, a path through something else.
void set_toml_value(TomlNode& document, const std::string& text);

// For messages: "8", "\"text\"", "a list", "a table".
[[nodiscard]] std::string describe(const TomlNode& node);

}  // namespace batchsweep::sweeps
