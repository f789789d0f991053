// SPDX-License-Identifier: Apache-2.0
// The log: levelled, tagged, on standard error only (standard output is the answer). Over spdlog.
// Level from BATCHSWEEP_LOG (debug, info, warn, error; default warn). Arguments follow fmt: log_warn("{}: {}", a, b).
#pragma once

#include <spdlog/spdlog.h>

#include <string>

namespace batchsweep {

// Once, at the start of main: the tag stands in front of each line, e.g. "batchsweep" or "batchsweep[2]".
void start_log(const std::string& tag);

template <class... Args>
void log_debug(fmt::format_string<Args...> format, Args&&... args) {
  spdlog::debug(format, std::forward<Args>(args)...);
}
template <class... Args>
void log_info(fmt::format_string<Args...> format, Args&&... args) {
  spdlog::info(format, std::forward<Args>(args)...);
}
template <class... Args>
void log_warn(fmt::format_string<Args...> format, Args&&... args) {
  spdlog::warn(format, std::forward<Args>(args)...);
}
template <class... Args>
void log_error(fmt::format_string<Args...> format, Args&&... args) {
  spdlog::error(format, std::forward<Args>(args)...);
}

}  // namespace batchsweep
