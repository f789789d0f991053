// SPDX-License-Identifier: Apache-2.0
// The seam over CLI11 (which costs every file that names it nine seconds): commands with positionals, options, flags, an example and a
// callback. Values go straight into the variables given, which must outlive parse(); a verb keeps them in a shared_ptr.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace batchsweep::cli {

class Command {
 public:
  struct Impl;
  explicit Command(Impl& impl) : impl_(&impl) {}

  // Required.
  Command& positional(const std::string& name, std::string& value, const std::string& help);
  // May be left out: the variable keeps what it has.
  Command& optional_positional(const std::string& name, std::string& value, const std::string& help);
  Command& positionals(const std::string& name, std::vector<std::string>& values, const std::string& help);
  // "--results", with a value; absent: the variable keeps what it has.
  Command& option(const std::string& name, std::string& value, const std::string& help);
  Command& option(const std::string& name, std::optional<std::string>& value, const std::string& help);
  Command& option(const std::string& name, std::optional<std::int64_t>& value, const std::string& help);
  // May be given several times.
  Command& option(const std::string& name, std::vector<std::string>& values, const std::string& help);
  // One of the words given; the first is the default.
  Command& choice(const std::string& name, std::string& value, const std::vector<std::string>& words, const std::string& help);
  Command& flag(const std::string& name, bool& value, const std::string& help);
  Command& example(const std::string& text);
  Command& hide();
  Command& run(std::function<ExitCode()> callback);

 private:
  Impl* impl_;
};

class CommandLine {
 public:
  CommandLine(const std::string& description, const std::string& example, const std::string& version);
  ~CommandLine();
  [[nodiscard]] Command add(const std::string& name, const std::string& help);
  // Commands that do not exist yet: who types one is told so.
  void add_later(std::vector<std::string> names);
  // Parses and runs the command's callback, whose errors pass through. Throws UsageError that names the word that is wrong.
  [[nodiscard]] ExitCode parse(int argc, char** argv);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace batchsweep::cli
