// SPDX-License-Identifier: Apache-2.0
// --until 18:00 and --budget "30 min": from when on nothing new starts.
#pragma once

#include <optional>
#include <string>

#include "base/clock.hpp"

namespace batchsweep::cli {

struct TimeLimit {
  Instant at{};
  std::string option;  // "--budget 30 min", for people
};
// The earlier of the two; nullopt without either. `until` is local time, today or, when that is past, tomorrow. Throws UsageError.
[[nodiscard]] std::optional<TimeLimit> time_limit(const std::optional<std::string>& until, const std::optional<std::string>& budget,
                                                  const Clock& clock);

}  // namespace batchsweep::cli
