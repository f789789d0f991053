// SPDX-License-Identifier: Apache-2.0
#include "results/report/render.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "results/report/shown_axes.hpp"

namespace batchsweep::results {
namespace {

std::string file_line(const ReportedFile& file) {
  std::string line = fmt::format(
      "Sweep {}, {}", file.sweep_name.empty() ? "without a name" : file.sweep_name, file.path);
  if (!file.run_id.empty()) line += fmt::format(", run {}", file.run_id);
  if (!file.created_utc.empty()) line += fmt::format(" of {}", file.created_utc);
  if (!file.site.empty()) line += fmt::format(", site {}", file.site);
  return line;
}

bool has_origin(const Groups& groups, std::string_view origin) {
  return std::any_of(groups.groups.begin(), groups.groups.end(), [&](const Group& group) {
    return groups.values.text(kOrigin, group.key) == origin;
  });
}

std::vector<std::string> emulated_lines(const Groups& groups) {
  std::map<std::string, std::string> carriers;
  for (const Group& group : groups.groups) {
    if (group.emulated && !group.points.empty())
      carriers[groups.values.text(kGpu, group.key)] = groups.values.text(kDeviceName, group.key);
  }
  std::vector<std::string> lines;
  for (const auto& [gpu, carrier] : carriers)
    lines.push_back(
        fmt::format("{} is emulated on {}: its memory is that card's, its times are not, and are "
                    "never compared with real cards.",
                    gpu, carrier));
  return lines;
}

// Broken at blanks to at most 100 columns, the lines after the first indented.
std::string wrapped(const std::string& text) {
  constexpr std::size_t width = 100;
  std::string lines;
  std::size_t start = 0;
  for (std::size_t room = width; text.size() - start > room; room = width - 2) {
    std::size_t blank = text.rfind(' ', start + room);
    if (blank == std::string::npos || blank <= start) blank = text.find(' ', start + room);
    if (blank == std::string::npos) break;
    lines += text.substr(start, blank - start) + "\n  ";
    start = blank + 1;
  }
  return lines + text.substr(start);
}

std::string markdown_text(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '*' || c == '_' || c == '`' || c == '<' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

}  // namespace

std::string format_rate(double rate) {
  if (!(std::abs(rate) > 0)) return "0";
  const int digits =
      std::clamp(3 - static_cast<int>(std::floor(std::log10(std::abs(rate)))), 0, 12);
  return fmt::format("{:.{}f}", rate, digits);
}

std::vector<std::string> heading(const Report& report) {
  std::vector<std::string> lines;
  for (const ReportedFile& file : report.files) lines.push_back(file_line(file));
  if (has_origin(report.groups, "rehearsed"))
    lines.emplace_back(
        "REHEARSED: these trials were played from rules, not trained. No number below was "
        "measured.");
  if (has_origin(report.groups, "published"))
    lines.emplace_back("PUBLISHED: some rows are imported from publications, not measured here.");
  const std::vector<std::string>& executions = report.groups.executions;
  if (executions == std::vector<std::string>{"eager"})
    lines.emplace_back(
        "Numbers are of LibTorch in eager mode (execution = eager), as PyTorch without "
        "torch.compile.");
  else if (!executions.empty())
    lines.push_back(fmt::format("Execution of the models: {}.", fmt::join(executions, ", ")));
  for (std::string& line : emulated_lines(report.groups)) lines.push_back(std::move(line));
  for (const std::string& notice : report.notices) lines.push_back("Note: " + notice + ".");
  return lines;
}

std::string said_once(const Report& report) {
  const ShownAxes axes = shown_axes(report.groups);
  return axes.said_once.empty() ? ""
                                : fmt::format("For all rows: {}.", fmt::join(axes.said_once, "; "));
}

std::string render_text(const Report& report) {
  std::string text;
  for (const std::string& line : heading(report)) text += wrapped(line) + '\n';
  if (const std::string axes = said_once(report); !axes.empty()) text += wrapped(axes) + '\n';
  for (const Section& section : sections(report)) {
    text += '\n' + section.title + '\n';
    for (const std::string& note : section.notes) text += "  " + note + '\n';
    if (!section.table.rows.empty()) text += render(section.table, TableFormat::kText);
  }
  return text;
}

std::string render_markdown(const Report& report) {
  std::string text = "# Report\n\n";
  for (const std::string& line : heading(report)) text += "- " + markdown_text(line) + '\n';
  if (const std::string axes = said_once(report); !axes.empty())
    text += "- " + markdown_text(axes) + '\n';
  for (const Section& section : sections(report)) {
    text += "\n## " + section.title + "\n\n";
    for (const std::string& note : section.notes) text += markdown_text(note) + "\n\n";
    if (!section.table.rows.empty()) text += render(section.table, TableFormat::kMarkdown);
  }
  return text;
}

}  // namespace batchsweep::results
