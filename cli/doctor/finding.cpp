// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor/finding.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace batchsweep::cli {

std::size_t count(const std::vector<Finding>& findings, Level level) {
  return static_cast<std::size_t>(std::ranges::count(findings, level, &Finding::level));
}

std::string render_text(const std::vector<Finding>& findings) {
  std::size_t width = 0;
  for (const Finding& finding : findings) width = std::max(width, finding.check.size());
  std::string text;
  for (const Finding& finding : findings) {
    text += fmt::format("{:<8} {:<{}}  {}\n", to_text(finding.level), finding.check, width,
                        finding.message);
    if (!finding.cure.empty())
      text += fmt::format("{:>{}}cure: {}\n", "", width + 11, finding.cure);
  }
  text += fmt::format("{} ok, {} warnings, {} errors\n", count(findings, Level::kOk),
                      count(findings, Level::kWarning), count(findings, Level::kError));
  return text;
}

Json to_json(const std::vector<Finding>& findings) {
  Json list = Json::array();
  for (const Finding& finding : findings) {
    list.push_back({{"check", finding.check},
                    {"level", to_text(finding.level)},
                    {"message", finding.message},
                    {"cure", finding.cure}});
  }
  return {{"findings", std::move(list)},
          {"ok", count(findings, Level::kOk)},
          {"warnings", count(findings, Level::kWarning)},
          {"errors", count(findings, Level::kError)}};
}

}  // namespace batchsweep::cli
