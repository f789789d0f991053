// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "results/report/render.hpp"
#include "results/report/shown_axes.hpp"

namespace batchsweep::results {
namespace {

constexpr std::size_t kMostLines = 15;

std::string counts_line(const Groups& groups) {
  std::string text;
  for (const auto& [outcome, name] : enum_names(Outcome{})) {
    const std::int64_t count = groups.outcomes[static_cast<std::size_t>(outcome)];
    if (count > 0) text += fmt::format(", {} {}", count, name);
  }
  return fmt::format("{} trials{}{}", groups.rows, text.empty() ? "" : ": ",
                     text.empty() ? "" : text.substr(2));
}

std::string boundary(const LargestBatch& row) {
  if (!row.boundary_seen()) return row.remark;
  const std::string fits = fmt::format("fits {}, not {}", *row.max_batch_fit, *row.min_batch_oom);
  return row.remark.empty() ? fits : fmt::format("{} ({})", fits, row.remark);
}

std::string group_line(const Report& report, const ShownAxes& axes, std::size_t i,
                       const Throughput* best) {
  std::string line = group_name(report.groups, axes, report.largest_batch[i].group) + ": " +
                     boundary(report.largest_batch[i]);
  if (best) {
    line += fmt::format("; {} samples/s at {}", format_rate(best->samples_per_s), best->batch);
    if (best->relative && *best->relative != 1)
      line += fmt::format(" ({:.2f} of {})", *best->relative, best->reference);
  }
  const Verdict& verdict = report.verdicts[i];
  if (verdict.limit != Limit::kUndecided)
    line += fmt::format("; limited by {}", to_text(verdict.limit));
  if (verdict.limit == Limit::kMemory && verdict.predicted_gain)
    line += fmt::format(", twice of it: {:+.0f} %", verdict.predicted_gain->value * 100);
  return line;
}

}  // namespace

std::string render_summary(const Report& report) {
  std::vector<std::string> lines = heading(report);
  // The heading may be long (many files); what was found must still have room.
  if (lines.size() > 5) lines.erase(lines.begin() + 5, lines.end());
  lines.push_back(counts_line(report.groups));
  if (!report.groups.failures.empty()) {
    const Failure& first = report.groups.failures.front();
    lines.push_back(fmt::format("first failure: {} {}: {}", first.trial_id, to_text(first.outcome),
                                first.message));
  }
  const ShownAxes axes = shown_axes(report.groups);
  const std::size_t total = report.largest_batch.size();
  std::size_t room = kMostLines - lines.size();
  if (total > room) --room;  // the last line tells how many are not here
  auto best = report.throughput.best.begin();
  for (std::size_t i = 0; i < std::min(total, room); ++i) {
    const std::size_t group = report.largest_batch[i].group;
    while (best != report.throughput.best.end() && best->group < group) ++best;
    const bool found = best != report.throughput.best.end() && best->group == group;
    lines.push_back(group_line(report, axes, i, found ? &*best : nullptr));
  }
  if (total > room) lines.push_back(fmt::format("and {} more: see the report", total - room));
  std::string text;
  for (std::string& line : lines) {
    std::replace(line.begin(), line.end(), '\n', ' ');
    text += line + '\n';
  }
  return text;
}

}  // namespace batchsweep::results
