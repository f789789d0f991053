// SPDX-License-Identifier: Apache-2.0
// Reads one TOML table key by key: checks types, units and ranges, remembers which keys were asked
// for (the others are unknown keys), and collects every finding instead of stopping at the first.
// Knows nothing of what the keys mean.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "sweeps/toml_document.hpp"

namespace batchsweep::sweeps {

class Findings {
 public:
  void add(const Place& place, const std::string& key, const std::string& message);
  void add(std::vector<Diagnostic> diagnostics);
  // In the order of files given here (the rest behind), then lines. Throws ConfigError if there are
  // any.
  void throw_if_any(const std::vector<std::string>& files);
  [[nodiscard]] bool empty() const { return all_.empty(); }

 private:
  std::vector<Diagnostic> all_;
};

// ", did you mean a or b"; "" where nothing is near.
[[nodiscard]] std::string did_you_mean(std::string_view wanted,
                                       const std::vector<std::string>& known);

// Single values; nullopt after a finding under `key`.
[[nodiscard]] std::optional<std::int64_t> read_integer(const TomlNode& node, const std::string& key,
                                                       double low, double high, Findings& findings);
[[nodiscard]] std::optional<double> read_number(const TomlNode& node, const std::string& key,
                                                double low, double high, Findings& findings);
[[nodiscard]] std::optional<bool> read_boolean(const TomlNode& node, const std::string& key,
                                               Findings& findings);
[[nodiscard]] std::optional<std::string> read_word(const TomlNode& node, const std::string& key,
                                                   std::span<const std::string_view> words,
                                                   Findings& findings);
// Not empty, at most 1,024 bytes, no control characters: it will be a column of text, a cell of
// CSV, a line of a table.
[[nodiscard]] std::optional<std::string> read_name(const TomlNode& node, const std::string& key,
                                                   Findings& findings);
[[nodiscard]] std::optional<std::uint64_t> read_bytes(const TomlNode& node, const std::string& key,
                                                      Findings& findings);
[[nodiscard]] std::optional<double> read_seconds(const TomlNode& node, const std::string& key,
                                                 Findings& findings);

class TableReader {
 public:
  // `path`: "trial"; keys are told as "trial.warmup_steps". "" for the file itself.
  TableReader(const TomlNode& table, std::string path, Findings& findings);

  [[nodiscard]] const TomlNode* find(std::string_view key);  // nullptr: absent
  [[nodiscard]] std::string key(std::string_view name) const;
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const Place& place() const { return table_->place; }
  [[nodiscard]] Findings& findings() const { return *findings_; }
  [[nodiscard]] const TomlNode& node() const { return *table_; }

  [[nodiscard]] std::optional<std::int64_t> integer(std::string_view name, double low, double high);
  [[nodiscard]] std::optional<double> number(std::string_view name, double low, double high);
  [[nodiscard]] std::optional<bool> boolean(std::string_view name);
  [[nodiscard]] std::optional<std::string> word(std::string_view name,
                                                std::span<const std::string_view> words);
  [[nodiscard]] std::optional<std::string> name(std::string_view name);
  [[nodiscard]] std::optional<std::uint64_t> bytes(std::string_view name);
  [[nodiscard]] std::optional<double> seconds(std::string_view name);
  [[nodiscard]] std::vector<std::string> names(std::string_view name);  // a list of texts, or one
  [[nodiscard]] std::optional<TableReader> table(std::string_view name);
  // [[name]] several times, or [name] once.
  [[nodiscard]] std::vector<TableReader> tables(std::string_view name);

  void missing(std::string_view name, const std::string& what);
  // Last: everything that was never asked for.
  void refuse_unknown_keys();

 private:
  const TomlNode* table_;
  std::string path_;
  Findings* findings_;
  std::vector<std::string> known_;
};

}  // namespace batchsweep::sweeps
