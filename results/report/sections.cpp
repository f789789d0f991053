// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/units.hpp"
#include "results/report/render.hpp"
#include "results/report/shown_axes.hpp"

namespace batchsweep::results {
namespace {

using Cells = std::vector<std::string>;

template <class Value>
std::string integer(const std::optional<Value>& value) {
  return value ? fmt::format("{}", *value) : "";
}
std::string bytes(const std::optional<double>& value) { return value ? format_bytes(*value) : ""; }
std::string rate(const std::optional<double>& value) { return value ? format_rate(*value) : ""; }
std::string gain(const std::optional<Gain>& value) {
  if (!value) return "";
  const double half = (value->high - value->low) / 2 * 100;
  const double percent = std::abs(value->value) < 0.0005 ? 0 : value->value * 100;  // no "-0.0"
  return fmt::format("{:+.1f} ± {:.1f} %", percent, half);
}
std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

// Columns that no row fills say nothing.
Table without_empty_columns(const Table& table) {
  Table kept{.header = {}, .rows = std::vector<Cells>(table.rows.size())};
  for (std::size_t c = 0; c < table.header.size(); ++c) {
    const bool filled = std::any_of(table.rows.begin(), table.rows.end(), [&](const Cells& row) {
      return c < row.size() && !row[c].empty();
    });
    if (!filled) continue;
    kept.header.push_back(table.header[c]);
    for (std::size_t r = 0; r < table.rows.size(); ++r)
      kept.rows[r].push_back(c < table.rows[r].size() ? table.rows[r][c] : "");
  }
  return kept;
}

// A table whose rows start with the axes of a group.
class GroupTable {
 public:
  GroupTable(const Groups& groups, const ShownAxes& axes, const Cells& columns)
      : groups_(groups), axes_(axes) {
    for (const std::size_t axis : axes.columns)
      table_.header.emplace_back(report_axes()[axis].name);
    table_.header.insert(table_.header.end(), columns.begin(), columns.end());
  }
  void add(std::size_t group, Cells cells) {
    Cells row;
    for (const std::size_t axis : axes_.columns)
      row.push_back(axis_cell(groups_, axis, groups_.groups[group]));
    row.insert(row.end(), std::make_move_iterator(cells.begin()),
               std::make_move_iterator(cells.end()));
    table_.rows.push_back(std::move(row));
  }
  [[nodiscard]] Table table() const { return without_empty_columns(table_); }

 private:
  const Groups& groups_;
  const ShownAxes& axes_;
  Table table_;
};

Section outcomes_section(const Report& report) {
  Section section{.title = "Outcomes", .notes = {}, .table = {{"outcome", "trials"}, {}}};
  for (const auto& [outcome, name] : enum_names(Outcome{})) {
    const std::int64_t count = report.groups.outcomes[static_cast<std::size_t>(outcome)];
    if (count > 0) section.table.rows.push_back({std::string(name), fmt::format("{}", count)});
  }
  if (section.table.rows.empty()) section.notes.emplace_back("no rows");
  for (const SkippedTrials& skipped : report.groups.skipped) {
    if (skipped.trials > 0)
      section.notes.push_back(one_line(
          fmt::format("{} skipped, {}: {}", skipped.trials, skipped.reason, skipped.message)));
  }
  return section;
}

std::string evidence(const Failure& failure) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  if (!failure.reason.empty()) add(failure.reason);
  if (!failure.phase.empty()) add("in " + failure.phase);
  if (failure.signal) add(fmt::format("signal {:.0f}", *failure.signal));
  if (failure.exit_code) add(fmt::format("exit code {:.0f}", *failure.exit_code));
  if (failure.guilty_rank) add(fmt::format("rank {:.0f}", *failure.guilty_rank));
  if (!failure.hostname.empty()) add("on " + failure.hostname);
  return text;
}

Section failures_section(const Report& report, const ShownAxes& axes) {
  GroupTable table(report.groups, axes,
                   {"batch", "trial", "repeat", "attempt", "outcome", "evidence", "message"});
  for (const Failure& failure : report.groups.failures)
    table.add(failure.group,
              {fmt::format("{}", failure.batch), failure.trial_id,
               failure.repeat > 0 ? fmt::format("{}", failure.repeat) : "",
               fmt::format("{}", failure.attempt), std::string(to_text(failure.outcome)),
               evidence(failure), one_line(failure.message)});
  return {.title = "Failures",
          .notes = {"more about one: batchsweep explain FILE TRIAL"},
          .table = table.table()};
}

Section largest_batch_section(const Report& report, const ShownAxes& axes) {
  GroupTable table(report.groups, axes,
                   {"fits", "out of memory at", "exact", "peak_allocated", "peak_reserved",
                    "peak_device_used", "limit", "remark"});
  for (const LargestBatch& row : report.largest_batch)
    table.add(row.group,
              {row.max_batch_fit ? integer(row.max_batch_fit) : "none", integer(row.min_batch_oom),
               row.boundary_seen() ? (row.exact ? "yes" : "no") : "",
               bytes(row.peak_allocated_bytes), bytes(row.peak_reserved_bytes),
               bytes(row.peak_device_used_bytes), bytes(row.limit_bytes), row.remark});
  return {
      .title = "Largest batch (samples per rank and micro-step; peaks of the largest that fits)",
      .notes = {},
      .table = table.table()};
}

Section throughput_section(const Report& report, const ShownAxes& axes) {
  const auto several_ranks =
      std::any_of(report.throughput.best.begin(), report.throughput.best.end(),
                  [](const Throughput& row) { return row.world_size > 1; });
  GroupTable table(report.groups, axes,
                   {"samples/s", "95 % interval", "per GPU", "tokens/s", "batch", "as fast from",
                    "relative", "to", "flags"});
  for (const Throughput& row : report.throughput.best) {
    const std::string interval =
        row.rate_low && row.rate_high
            ? fmt::format("{} to {}", format_rate(*row.rate_low), format_rate(*row.rate_high))
            : "";
    table.add(
        row.group,
        {format_rate(row.samples_per_s), interval,
         several_ranks ? format_rate(row.samples_per_s / static_cast<double>(row.world_size)) : "",
         rate(row.tokens_per_s), fmt::format("{}", row.batch),
         row.near_best_batch < row.batch ? fmt::format("{}", row.near_best_batch) : "",
         row.relative ? fmt::format("{:.2f}", *row.relative) : "", row.reference,
         fmt::format("{}", fmt::join(row.flags, ", "))});
  }
  return {.title = "Throughput (best batch of each; of all ranks)",
          .notes = {},
          .table = table.table()};
}

Section means_section(const Report& report, const ShownAxes& axes) {
  ShownAxes without_model = axes;
  std::erase(without_model.columns, static_cast<std::size_t>(kModel));
  GroupTable table(report.groups, without_model, {"relative", "to", "models"});
  for (const RelativeThroughput& row : report.throughput.means)
    table.add(row.group, {fmt::format("{:.2f}", row.relative), row.reference,
                          fmt::format("{}", fmt::join(row.models, ", "))});
  return {.title = "Relative throughput (geometric mean over common models)",
          .notes = {},
          .table = table.table()};
}

Section memory_section(const Report& report, const ShownAxes& axes) {
  GroupTable table(report.groups, axes, {"fixed", "per sample", "worst error", "points", "fitted"});
  for (const MemoryFit& row : report.memory)
    table.add(row.group,
              {format_bytes(row.fixed_bytes), format_bytes(row.bytes_per_sample),
               fmt::format("{:.1f} %", row.worst_error * 100), fmt::format("{}", row.points),
               fmt::format("{} to {}", row.smallest_used, row.largest_used)});
  return {
      .title = "Memory (peak_allocated against the batch)",
      .notes =
          {"The line through the larger half of the batches; worst error over all that completed."},
      .table = table.table()};
}

Section scaling_section(const Report& report, const ShownAxes& axes, ScalingKind kind) {
  GroupTable table(report.groups, axes,
                   {"batch", "global batch", "samples/s", "efficiency", "relative to"});
  for (const Scaling& row : report.scaling) {
    if (row.kind != kind) continue;
    table.add(row.group,
              {fmt::format("{}", row.batch), fmt::format("{}", row.global_batch),
               format_rate(row.samples_per_s), fmt::format("{:.1f} %", row.efficiency * 100),
               fmt::format("world_size {}", row.base_world_size)});
  }
  const bool weak = kind == ScalingKind::kWeak;
  return {
      .title = weak ? "Weak scaling (batch per rank fixed)" : "Strong scaling (global batch fixed)",
      .notes = {},
      .table = table.table()};
}

Section verdicts_section(const Report& report, const ShownAxes& axes) {
  GroupTable table(
      report.groups, axes,
      {"limited by", "last doubling", "twice the memory", "buys", "of the asymptote", "because"});
  for (const Verdict& row : report.verdicts)
    table.add(
        row.group,
        {std::string(to_text(row.limit)), gain(row.measured_gain),
         row.batch_at_double_memory ? fmt::format("batch {:.0f}", *row.batch_at_double_memory) : "",
         gain(row.predicted_gain),
         row.reached_share ? fmt::format("{:.0f} %", *row.reached_share * 100) : "", row.reason});
  return {
      .title = "What limits: memory or compute",
      .notes =
          {"last doubling: gain in throughput over the last doubling of the batch that fits, "
           "measured.",
           "buys: gain that twice the memory would bring, predicted. Both with 95 % intervals."},
      .table = table.table()};
}

}  // namespace

std::vector<Section> sections(const Report& report) {
  const ShownAxes axes = shown_axes(report.groups);
  std::vector<Section> all = {outcomes_section(report)};
  if (!report.groups.failures.empty()) all.push_back(failures_section(report, axes));
  if (!report.largest_batch.empty()) all.push_back(largest_batch_section(report, axes));
  if (!report.throughput.best.empty()) all.push_back(throughput_section(report, axes));
  if (!report.throughput.means.empty()) all.push_back(means_section(report, axes));
  if (!report.memory.empty()) all.push_back(memory_section(report, axes));
  for (const ScalingKind kind : {ScalingKind::kWeak, ScalingKind::kStrong}) {
    const bool any = std::any_of(report.scaling.begin(), report.scaling.end(),
                                 [&](const Scaling& row) { return row.kind == kind; });
    if (any) all.push_back(scaling_section(report, axes, kind));
  }
  if (!report.verdicts.empty()) all.push_back(verdicts_section(report, axes));
  return all;
}

}  // namespace batchsweep::results
