// SPDX-License-Identifier: Apache-2.0
#include "cli/command_line.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <deque>

#include "base/text.hpp"

namespace batchsweep::cli {
namespace {

std::string did_you_mean(const std::string& word, const std::vector<std::string>& known) {
  const std::vector<std::string> near = nearest_names(word, known, 1);
  return near.empty() ? "" : ", did you mean " + near.front();
}

std::vector<std::string> options_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::vector<std::string> commands_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command :
       app.get_subcommands([](const CLI::App* a) { return !a->get_group().empty(); })) {
    names.push_back(command->get_name());
  }
  return names;
}

}  // namespace

struct Command::Impl {
  CLI::App* app = nullptr;
  std::function<ExitCode()> callback;
};

struct CommandLine::State {
  CLI::App app;
  std::deque<Command::Impl> commands;
  std::vector<std::string> later;  // commands that do not exist yet

  [[nodiscard]] std::string complaint(const CLI::ParseError& error) const;
};

// A word that nothing takes is told first: what else is missing, such as SWEEP behind "run
// --helpp", follows from it.
std::string CommandLine::State::complaint(const CLI::ParseError& error) const {
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  const CLI::App& command = chosen.empty() ? app : *chosen.front();
  const std::string see =
      fmt::format("; see: batchsweep {}--help", chosen.empty() ? "" : command.get_name() + " ");
  const std::vector<std::string> left = app.remaining(true);
  if (left.empty())
    return (chosen.empty() && error.get_name() == "RequiredError" ? "a command is missing"
                                                                  : error.what()) +
           see;
  const std::string& word = left.front();
  if (word.starts_with("-")) {
    const std::string name = word.substr(0, word.find('='));
    return fmt::format("unknown option \"{}\"{}", word, did_you_mean(name, options_of(command))) +
           see;
  }
  if (!chosen.empty()) return fmt::format("unexpected \"{}\"", word) + see;
  if (std::ranges::count(later, word) > 0) return word + ": not available yet";
  return fmt::format("unknown command \"{}\"{}", word, did_you_mean(word, commands_of(app))) + see;
}

Command& Command::positional(const std::string& name, std::string& value, const std::string& help) {
  impl_->app->add_option(name, value, help)->required();
  return *this;
}
Command& Command::optional_positional(const std::string& name, std::string& value,
                                      const std::string& help) {
  impl_->app->add_option(name, value, help);
  return *this;
}
Command& Command::positionals(const std::string& name, std::vector<std::string>& values,
                              const std::string& help) {
  impl_->app->add_option(name, values, help)->required();
  return *this;
}
Command& Command::option(const std::string& name, std::string& value, const std::string& help) {
  impl_->app->add_option(name, value, help);
  return *this;
}
Command& Command::option(const std::string& name, std::optional<std::string>& value,
                         const std::string& help) {
  impl_->app->add_option(name, value, help);
  return *this;
}
Command& Command::option(const std::string& name, std::optional<std::int64_t>& value,
                         const std::string& help) {
  impl_->app->add_option(name, value, help);
  return *this;
}
Command& Command::option(const std::string& name, std::vector<std::string>& values,
                         const std::string& help) {
  impl_->app->add_option(name, values, help)->allow_extra_args(false);
  return *this;
}
Command& Command::choice(const std::string& name, std::string& value,
                         const std::vector<std::string>& words, const std::string& help) {
  value = words.front();
  impl_->app->add_option(name, value, help)->check(CLI::IsMember(words));
  return *this;
}
Command& Command::flag(const std::string& name, bool& value, const std::string& help) {
  impl_->app->add_flag(name, value, help);
  return *this;
}
Command& Command::example(const std::string& text) {
  impl_->app->footer("Example: " + text);
  return *this;
}
Command& Command::hide() {
  impl_->app->group("");
  return *this;
}
Command& Command::run(std::function<ExitCode()> callback) {
  impl_->callback = std::move(callback);
  return *this;
}

CommandLine::CommandLine(const std::string& description, const std::string& example,
                         const std::string& version)
    : state_(new State{CLI::App{description}, {}, {}}) {
  state_->app.footer("Example: " + example);
  state_->app.set_version_flag("--version", version);
  state_->app.require_subcommand(1);
}
CommandLine::~CommandLine() = default;

Command CommandLine::add(const std::string& name, const std::string& help) {
  Command::Impl& impl = state_->commands.emplace_back();
  impl.app = state_->app.add_subcommand(name, help);
  return Command(impl);
}

void CommandLine::add_later(std::vector<std::string> names) { state_->later = std::move(names); }

ExitCode CommandLine::parse(int argc, char** argv) {
  try {
    state_->app.parse(argc, argv);
  } catch (const CLI::Success& asked) {  // --help, --version
    (void)state_->app.exit(asked);
    return ExitCode::kDone;
  } catch (const CLI::ParseError& error) {
    throw UsageError(state_->complaint(error));
  }
  for (const Command::Impl& command : state_->commands) {
    if (command.app->parsed() && command.callback) return command.callback();
  }
  return ExitCode::kUsage;
}

}  // namespace batchsweep::cli
