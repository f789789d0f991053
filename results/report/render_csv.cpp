// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "results/report/render.hpp"

namespace batchsweep::results {
namespace {

template <class Value>
std::string cell(const std::optional<Value>& value) {
  return value ? fmt::format("{}", *value) : "";
}

// The answers of one kind, by group.
template <class Answer>
std::map<std::size_t, const Answer*> by_group(const std::vector<Answer>& answers) {
  std::map<std::size_t, const Answer*> index;
  for (const Answer& answer : answers) index.emplace(answer.group, &answer);
  return index;
}

template <class Answer>
const Answer* find(const std::map<std::size_t, const Answer*>& index, std::size_t group) {
  const auto it = index.find(group);
  return it == index.end() ? nullptr : it->second;
}

const std::vector<std::string> kAnswerColumns = {"emulated",
                                                 "completed",
                                                 "out_of_memory",
                                                 "failures",
                                                 "max_batch_fit",
                                                 "min_batch_oom",
                                                 "exact",
                                                 "peak_allocated_bytes",
                                                 "peak_reserved_bytes",
                                                 "peak_device_used_bytes",
                                                 "limit_bytes",
                                                 "remark",
                                                 "best_batch_size",
                                                 "samples_per_s",
                                                 "samples_per_s_ci_low",
                                                 "samples_per_s_ci_high",
                                                 "samples_per_s_per_gpu",
                                                 "tokens_per_s",
                                                 "near_best_batch",
                                                 "relative",
                                                 "reference",
                                                 "flags",
                                                 "fixed_bytes",
                                                 "bytes_per_sample",
                                                 "memory_worst_error",
                                                 "memory_points",
                                                 "memory_points_used",
                                                 "limited_by",
                                                 "reason",
                                                 "measured_last_doubling",
                                                 "batch_at_double_memory",
                                                 "predicted_gain",
                                                 "predicted_gain_low",
                                                 "predicted_gain_high",
                                                 "asymptotic_samples_per_s"};

using Cells = std::vector<std::string>;

void add_outcomes(const Group& group, Cells& row) {
  std::int64_t completed = 0, out_of_memory = 0, failures = 0;
  for (const BatchPoint& point : group.points) {
    completed += point.count(Outcome::kCompleted);
    out_of_memory += point.count(Outcome::kOutOfMemory);
    for (const auto& [outcome, name] : enum_names(Outcome{}))
      failures += is_failure(outcome) ? point.count(outcome) : 0;
  }
  for (const std::int64_t count : {completed, out_of_memory, failures})
    row.push_back(fmt::format("{}", count));
}

void add_largest_batch(const LargestBatch& answer, Cells& row) {
  const Cells cells = {cell(answer.max_batch_fit),       cell(answer.min_batch_oom),
                       answer.exact ? "true" : "false",  cell(answer.peak_allocated_bytes),
                       cell(answer.peak_reserved_bytes), cell(answer.peak_device_used_bytes),
                       cell(answer.limit_bytes),         answer.remark};
  row.insert(row.end(), cells.begin(), cells.end());
}

void add_throughput(const Throughput* answer, Cells& row) {
  Cells cells(10);
  if (answer)
    cells = {fmt::format("{}", answer->batch),
             fmt::format("{}", answer->samples_per_s),
             cell(answer->rate_low),
             cell(answer->rate_high),
             fmt::format("{}", answer->samples_per_s / static_cast<double>(answer->world_size)),
             cell(answer->tokens_per_s),
             fmt::format("{}", answer->near_best_batch),
             cell(answer->relative),
             answer->reference,
             fmt::format("{}", fmt::join(answer->flags, "; "))};
  row.insert(row.end(), cells.begin(), cells.end());
}

void add_memory(const MemoryFit* answer, Cells& row) {
  Cells cells(5);
  if (answer)
    cells = {fmt::format("{}", answer->fixed_bytes), fmt::format("{}", answer->bytes_per_sample),
             fmt::format("{}", answer->worst_error), fmt::format("{}", answer->points),
             fmt::format("{}", answer->points_used)};
  row.insert(row.end(), cells.begin(), cells.end());
}

void add_verdict(const Verdict& answer, Cells& row) {
  const auto& measured = answer.measured_gain;
  const auto& predicted = answer.predicted_gain;
  const Cells cells = {std::string(to_text(answer.limit)),
                       answer.reason,
                       measured ? fmt::format("{}", measured->value) : "",
                       cell(answer.batch_at_double_memory),
                       predicted ? fmt::format("{}", predicted->value) : "",
                       predicted ? fmt::format("{}", predicted->low) : "",
                       predicted ? fmt::format("{}", predicted->high) : "",
                       cell(answer.asymptotic_samples_per_s)};
  row.insert(row.end(), cells.begin(), cells.end());
}

}  // namespace

std::string render_csv(const Report& report) {
  Table table;
  for (const ReportAxis& axis : report_axes()) table.header.emplace_back(axis.name);
  table.header.insert(table.header.end(), kAnswerColumns.begin(), kAnswerColumns.end());
  const auto rates = by_group(report.throughput.best);
  const auto memory = by_group(report.memory);
  for (std::size_t i = 0; i < report.largest_batch.size(); ++i) {
    const std::size_t index = report.largest_batch[i].group;
    const Group& group = report.groups.groups[index];
    Cells row;
    for (std::size_t axis = 0; axis < kAxisCount; ++axis)
      row.push_back(report.groups.values.text(axis, group.key));
    row.emplace_back(group.emulated ? "true" : "false");
    add_outcomes(group, row);
    add_largest_batch(report.largest_batch[i], row);
    add_throughput(find(rates, index), row);
    add_memory(find(memory, index), row);
    add_verdict(report.verdicts[i], row);
    table.rows.push_back(std::move(row));
  }
  return render(table, TableFormat::kCsv);
}

}  // namespace batchsweep::results
