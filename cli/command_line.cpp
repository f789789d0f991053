// SPDX-License-Identifier: Apache-2.0
#include "cli/command_line.hpp"

#include <CLI/CLI.hpp>
#include <deque>

namespace batchsweep::cli {

struct Command::Impl {
  CLI::App* app = nullptr;
  std::function<ExitCode()> callback;
};

struct CommandLine::State {
  CLI::App app;
  std::deque<Command::Impl> commands;
};

Command& Command::positional(const std::string& name, std::string& value, const std::string& help) {
  impl_->app->add_option(name, value, help)->required();
  return *this;
}
Command& Command::optional_positional(const std::string& name, std::string& value, const std::string& help) {
  impl_->app->add_option(name, value, help);
  return *this;
}
Command& Command::positionals(const std::string& name, std::vector<std::string>& values, const std::string& help) {
  impl_->app->add_option(name, values, help)->required();
  return *this;
}
Command& Command::option(const std::string& name, std::string& value, const std::string& help) {
  impl_->app->add_option(name, value, help);
  return *this;
}
Command& Command::option(const std::string& name, std::optional<std::string>& value, const std::string& help) {
  impl_->app->add_option(name, value, help);
  return *this;
}
Command& Command::option(const std::string& name, std::optional<std::int64_t>& value, const std::string& help) {
  impl_->app->add_option(name, value, help);
  return *this;
}
Command& Command::option(const std::string& name, std::vector<std::string>& values, const std::string& help) {
  impl_->app->add_option(name, values, help)->allow_extra_args(false);
  return *this;
}
Command& Command::choice(const std::string& name, std::string& value, const std::vector<std::string>& words,
                         const std::string& help) {
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

CommandLine::CommandLine(const std::string& description, const std::string& example, const std::string& version)
    : state_(new State{CLI::App{description}, {}}) {
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

ExitCode CommandLine::parse(int argc, char** argv) {
  try {
    state_->app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return state_->app.exit(error) == 0 ? ExitCode::kDone : ExitCode::kUsage;
  }
  for (const Command::Impl& command : state_->commands) {
    if (command.app->parsed() && command.callback) return command.callback();
  }
  return ExitCode::kUsage;
}

}  // namespace batchsweep::cli
