// SPDX-License-Identifier: Apache-2.0
#include "base/log.hpp"

#include <spdlog/sinks/stdout_sinks.h>

#include <cstdlib>

namespace batchsweep {

void start_log(const std::string& tag) {
  auto logger = std::make_shared<spdlog::logger>(tag, std::make_shared<spdlog::sinks::stderr_sink_st>());
  logger->set_pattern("%n: %l: %v");
  const char* level = std::getenv("BATCHSWEEP_LOG");
  logger->set_level(level != nullptr ? spdlog::level::from_str(level) : spdlog::level::warn);
  spdlog::set_default_logger(std::move(logger));
}

}  // namespace batchsweep
