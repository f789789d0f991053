// SPDX-License-Identifier: Apache-2.0
#include "cli/time_limits.hpp"

#include <algorithm>
#include <cstdio>
#include <ctime>

#include "base/error.hpp"
#include "base/units.hpp"
#include "cli/slurm_commands.hpp"

namespace batchsweep::cli {
namespace {

Duration until_local_time(const std::string& text, Utc now) {
  int hour = -1, minute = -1, used = 0;
  const bool read = std::sscanf(text.c_str(), "%2d:%2d%n", &hour, &minute, &used) == 2;
  if (!read || used != static_cast<int>(text.size()) || hour < 0 || hour > 23 || minute < 0 || minute > 59) {
    throw UsageError("--until " + text + ": expected a local time such as 18:00");
  }
  const std::time_t now_s = std::chrono::system_clock::to_time_t(std::chrono::time_point_cast<std::chrono::seconds>(now));
  std::tm local{};
  localtime_r(&now_s, &local);
  local.tm_hour = hour;
  local.tm_min = minute;
  local.tm_sec = 0;
  std::time_t wanted = std::mktime(&local);
  if (wanted <= now_s) {
    ++local.tm_mday;  // mktime carries over month ends and changes of the clock
    local.tm_isdst = -1;
    wanted = std::mktime(&local);
  }
  return std::chrono::seconds(wanted - now_s);
}

}  // namespace

std::optional<TimeLimit> time_limit(const std::optional<std::string>& until, const std::optional<std::string>& budget,
                                    const Clock& clock) {
  std::optional<TimeLimit> limit;
  if (until) limit = {clock.now() + until_local_time(*until, clock.utc_now()), "--until " + *until};
  if (budget) {
    const std::optional<double> s = parse_seconds(*budget);
    if (!s) throw UsageError("--budget " + *budget + ": expected a time with its unit, such as \"30 min\"");
    const Instant end = clock.now() + seconds(*s);
    if (!limit || end < limit->at) limit = {end, "--budget " + *budget};
  }
  return limit;
}

std::optional<Instant> end_of_job(const Clock& clock) {
  const std::optional<double> left_s = job_time_left_s();
  if (!left_s) return std::nullopt;
  return clock.now() + seconds(*left_s - slurm::margin_s(*left_s));
}

}  // namespace batchsweep::cli
