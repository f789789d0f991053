// SPDX-License-Identifier: Apache-2.0
// --until 18:00 and --budget "30 min": from when on nothing new starts. And the end of a Slurm job, which stops what runs.
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

// When a run in a Slurm job must end, so that all is saved before Slurm ends the job. nullopt: outside of Slurm, or no limit.
[[nodiscard]] std::optional<Instant> end_of_job(const Clock& clock);

}  // namespace batchsweep::cli
