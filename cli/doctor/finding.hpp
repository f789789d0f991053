// SPDX-License-Identifier: Apache-2.0
// One line of `batchsweep doctor`: what was looked at, how it stands, and the cure where it does
// not stand well.
#pragma once

#include <string>
#include <vector>

#include "base/enum_names.hpp"
#include "base/json.hpp"

namespace batchsweep::cli {

enum class Level { kOk, kWarning, kError };
constexpr auto enum_names(Level) {
  return std::to_array<EnumName<Level>>(
      {{Level::kOk, "ok"}, {Level::kWarning, "warning"}, {Level::kError, "error"}});
}

struct Finding {
  std::string check;  // "mpi launcher"
  Level level = Level::kOk;
  std::string message;  // what was found
  std::string cure;     // what to do; "" where nothing is wrong
  bool operator==(const Finding&) const = default;
};

[[nodiscard]] std::string render_text(const std::vector<Finding>& findings);
[[nodiscard]] Json to_json(const std::vector<Finding>& findings);
[[nodiscard]] std::size_t count(const std::vector<Finding>& findings, Level level);

}  // namespace batchsweep::cli
