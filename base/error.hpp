// SPDX-License-Identifier: Apache-2.0
// The one exception family of the product, and the exit codes. A trial that goes wrong is never an exception: it is data
// (results/record/outcome.hpp). Caught in three places only: cli/main, worker/train's main, the agent's per-message guard.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace batchsweep {

enum class ExitCode : int {
  kDone = 0,           // nothing left that could run here, and no failure
  kEnvironment = 1,    // the machine: files, MPI, processes
  kUsage = 2,          // the user's input: command line, sweep file, results file
  kFailedTrials = 3,   // finished, with failed trials (out of memory is not one)
  kWorkLeft = 4,       // stopped in time, work left
  kSlower = 5,         // slower than allowed
  kInterrupted = 130,  // after SIGINT
};

class Error : public std::runtime_error {
 public:
  Error(ExitCode exit_code, const std::string& message) : std::runtime_error(message), exit_code_(exit_code) {}
  [[nodiscard]] ExitCode exit_code() const { return exit_code_; }

 private:
  ExitCode exit_code_;
};

// The command line is wrong.
class UsageError : public Error {
 public:
  explicit UsageError(const std::string& message) : Error(ExitCode::kUsage, message) {}
};

// One finding in a file that the user wrote; line and column count from 1, 0 = the file as a whole.
struct Diagnostic {
  std::string file;
  int line = 0;
  int column = 0;
  std::string key;      // "trial.warmup_step"; may be empty
  std::string message;  // "unknown key, did you mean warmup_steps"
  bool operator==(const Diagnostic&) const = default;
};

// "x.toml: line 7, column 3: trial.warmup_step: unknown key, did you mean warmup_steps"
[[nodiscard]] std::string to_string(const Diagnostic& diagnostic);

// A sweep file, site file or results file is wrong; carries every finding at once.
class ConfigError : public Error {
 public:
  explicit ConfigError(std::vector<Diagnostic> diagnostics);
  [[nodiscard]] const std::vector<Diagnostic>& diagnostics() const { return diagnostics_; }

 private:
  std::vector<Diagnostic> diagnostics_;
};

// A results file that cannot be used as it is (damaged, of another origin, locked ...): the user's input.
class ResultsFileError : public Error {
 public:
  explicit ResultsFileError(const std::string& message) : Error(ExitCode::kUsage, message) {}
};

// The machine refused: files, processes, memory.
class IoError : public Error {
 public:
  explicit IoError(const std::string& message) : Error(ExitCode::kEnvironment, message) {}
};

class MpiError : public Error {
 public:
  explicit MpiError(const std::string& message) : Error(ExitCode::kEnvironment, message) {}
};

// A message, or a line of a trial, that is not of our protocol.
class ProtocolError : public Error {
 public:
  explicit ProtocolError(const std::string& message) : Error(ExitCode::kEnvironment, message) {}
};

// "cannot open x: Permission denied" from errno.
[[noreturn]] void throw_errno(std::string_view what, int error_number);

}  // namespace batchsweep
