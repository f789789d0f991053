// SPDX-License-Identifier: Apache-2.0
#include "base/error.hpp"

#include <fmt/format.h>

#include <system_error>

namespace batchsweep {
namespace {

std::string join(const std::vector<Diagnostic>& diagnostics) {
  std::string text;
  for (const Diagnostic& diagnostic : diagnostics) {
    if (!text.empty()) text += '\n';
    text += to_string(diagnostic);
  }
  return text;
}

}  // namespace

std::string to_string(const Diagnostic& diagnostic) {
  std::string text = diagnostic.file;
  if (diagnostic.line > 0) {
    text += fmt::format("{}line {}, column {}", text.empty() ? "" : ": ", diagnostic.line, diagnostic.column);
  }
  for (const std::string& part : {diagnostic.key, diagnostic.message}) {
    if (!part.empty()) text += (text.empty() ? "" : ": ") + part;
  }
  return text;
}

ConfigError::ConfigError(std::vector<Diagnostic> diagnostics)
    : Error(ExitCode::kUsage, join(diagnostics)), diagnostics_(std::move(diagnostics)) {}

void throw_errno(std::string_view what, int error_number) {
  throw IoError(fmt::format("{}: {}", what, std::generic_category().message(error_number)));
}

}  // namespace batchsweep
