// SPDX-License-Identifier: Apache-2.0
#include "results/report/explain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "base/table.hpp"
#include "base/units.hpp"
#include "results/record/fields.hpp"
#include "results/report/statistics.hpp"
#include "results/store/attempt_index.hpp"
#include "results/store/rerun.hpp"

namespace batchsweep::results {
namespace {

using TrialField = Field<TrialRecord>;

template <class Record>
std::string value_text(const Field<Record>& field, const Record& record) {
  if (const auto* text = std::get_if<std::string Record::*>(&field.member)) return record.**text;
  if (const auto* flag = std::get_if<bool Record::*>(&field.member))
    return record.**flag ? "true" : "false";
  if (const auto* integer = std::get_if<std::int64_t Record::*>(&field.member))
    return fmt::format("{}", record.**integer);
  const Number& number = record.**std::get_if<Number Record::*>(&field.member);
  if (!number || std::isnan(*number)) return "";
  if (field.unit == "bytes" && *number >= 1024)
    return fmt::format("{} ({})", *number, format_bytes(*number));
  return field.unit.empty() ? fmt::format("{}", *number)
                            : fmt::format("{} {}", *number, field.unit);
}

std::string indented(const std::string& text, const std::string& indent) {
  std::string lines;
  std::size_t start = 0;
  while (start < text.size()) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    lines.append(indent).append(text, start, end - start).append(1, '\n');
    start = end + 1;
  }
  return lines;
}

// Names and values of the fields for which `wanted` holds and that say anything.
template <class Wanted>
std::string list_fields(const TrialRecord& trial, const std::string& indent, const Wanted& wanted) {
  std::size_t width = 0;
  for (const TrialField& field : fields_of<TrialRecord>())
    width = std::max(width, field.name.size());
  std::string lines;
  for (const TrialField& field : fields_of<TrialRecord>()) {
    const std::string value = wanted(field) ? value_text(field, trial) : "";
    if (!value.empty()) lines += fmt::format("{}{:<{}}  {}\n", indent, field.name, width, value);
  }
  return lines;
}

// A line about the timed steps of one rank.
std::string steps_line(const StepTimes& steps) {
  std::vector<double> timed;
  std::string warmup;
  for (std::size_t i = 0; i < steps.time_s.size(); ++i) {
    if (std::isnan(steps.time_s[i])) continue;
    if (static_cast<std::int64_t>(i) >= steps.warmup_steps) {
      timed.push_back(steps.time_s[i]);
    } else {
      warmup += (warmup.empty() ? "" : ", ") + format_seconds(steps.time_s[i]);
    }
  }
  std::string line = fmt::format("  rank {}: ", steps.rank);
  if (!warmup.empty()) line += "warm-up " + warmup + "; ";
  if (timed.empty()) return line + "no timed step\n";
  std::sort(timed.begin(), timed.end());
  const auto p95 =
      static_cast<std::size_t>(std::ceil(0.95 * static_cast<double>(timed.size()))) - 1;
  return line + fmt::format("{} timed: shortest {}, median {}, 95th percentile {}, longest {}\n",
                            timed.size(), format_seconds(timed.front()),
                            format_seconds(*median(timed)), format_seconds(timed[p95]),
                            format_seconds(timed.back()));
}

std::string ranks_table(const std::vector<RankRecord>& ranks) {
  Table table;
  const std::vector<std::string_view> left_out = {"run_id", "trial_id", "repeat", "attempt"};
  std::vector<const Field<RankRecord>*> columns;
  for (const Field<RankRecord>& field : fields_of<RankRecord>()) {
    const bool says_something =
        std::any_of(ranks.begin(), ranks.end(),
                    [&](const RankRecord& rank) { return !value_text(field, rank).empty(); });
    if (!says_something || std::count(left_out.begin(), left_out.end(), field.name) > 0) continue;
    columns.push_back(&field);
  }
  // Turned on its side: a rank has more columns than a screen.
  table.header = {"rank"};
  for (const RankRecord& rank : ranks) table.header.push_back(fmt::format("{}", rank.rank));
  for (const Field<RankRecord>* field : columns) {
    if (field->name == "rank") continue;
    std::vector<std::string> row = {std::string(field->name)};
    for (const RankRecord& rank : ranks) {
      std::string value = value_text(*field, rank);
      std::replace(value.begin(), value.end(), '\n', ' ');
      row.push_back(std::move(value));
    }
    table.rows.push_back(std::move(row));
  }
  return render(table, TableFormat::kText);
}

std::string explain_attempt(const AttemptRecord& attempt, const std::string& fields) {
  const TrialRecord& trial = attempt.trial;
  std::string text =
      fmt::format("\nRepeat {}, attempt {}: {}", trial.repeat, trial.attempt, trial.outcome);
  if (!trial.reason.empty()) text += fmt::format(" ({})", trial.reason);
  text += '\n';
  if (!trial.message.empty()) text += indented(trial.message, "  ");
  text += fields;
  if (!attempt.ranks.empty()) text.append("\n").append(indented(ranks_table(attempt.ranks), "  "));
  if (!attempt.steps.empty()) text += "\n  Step times\n";
  for (const StepTimes& steps : attempt.steps) text.append("  ").append(steps_line(steps));
  if (!attempt.software.switches.empty())
    text.append(fmt::format("\n  Switches: {}\n", attempt.software.switches));
  if (!attempt.software.environment.empty())
    text.append("\n  Environment\n").append(indented(attempt.software.environment, "    "));
  if (!attempt.log.empty()) text.append("\n  Log\n").append(indented(attempt.log, "    | "));
  return text;
}

}  // namespace

std::string explain_attempts(const std::vector<AttemptRecord>& attempts) {
  if (attempts.empty()) return "";
  const TrialRecord& first = attempts.front().trial;
  const auto shared = [&](const TrialField& field) {
    return std::all_of(attempts.begin(), attempts.end(), [&](const AttemptRecord& attempt) {
      return value_text(field, attempt.trial) == value_text(field, first);
    });
  };
  std::string text = fmt::format("Trial {}: {} on {}, {}, batch {}\n", first.trial_id, first.model,
                                 first.gpu.empty() ? first.gpu_requested : first.gpu,
                                 first.precision, first.batch_size);
  text += list_fields(first, "  ", shared);
  for (const AttemptRecord& attempt : attempts)
    text += explain_attempt(attempt, list_fields(attempt.trial, "  ", [&](const TrialField& field) {
                              return !shared(field);
                            }));
  return text;
}

std::vector<CountingRow> counting_rows(const std::vector<AttemptRecord>& attempts,
                                       const std::vector<RunInfo>& runs,
                                       const sweeps::TrialSpec* spec) {
  if (attempts.empty()) return {};
  AttemptIndex index;
  std::map<std::int64_t, CountingRow> rows;
  for (const AttemptRecord& attempt : attempts) {
    index.add(attempt.trial, 0);
    rows[attempt.trial.repeat].repeat = attempt.trial.repeat;
  }
  Reruns reruns(runs, nullptr);
  const auto id = sweeps::parse_trial_id(attempts.front().trial.trial_id);
  if (spec != nullptr && id) reruns.note(*id, *spec);
  for (const RecordedState& state : what_counts(index.states(runs), reruns)) {
    if (!state.has_row) continue;
    rows[state.repeat].outcome = state.outcome;
    rows[state.repeat].run_id = runs[state.run].run_id;
  }
  std::vector<CountingRow> counting;
  for (auto& [repeat, row] : rows) counting.push_back(std::move(row));
  return counting;
}

std::string explain_what_counts(const std::vector<CountingRow>& rows,
                                const std::vector<RunInfo>& runs) {
  if (runs.size() < 2 || rows.empty()) return "";
  std::string text = "\nWhat counts of the file's runs\n";
  for (const CountingRow& row : rows) {
    text += row.outcome ? fmt::format("  repeat {}: {}, of run {}\n", row.repeat,
                                      to_text(*row.outcome), row.run_id)
                        : fmt::format("  repeat {}: no row: batchsweep run measures it again\n",
                                      row.repeat);
  }
  return text;
}

Json to_json(const CountingRow& row) {
  return {{"repeat", row.repeat},
          {"outcome", row.outcome ? Json(to_text(*row.outcome)) : Json()},
          {"run_id", row.outcome ? Json(row.run_id) : Json()}};
}

namespace {

std::string running(const Json& device) {
  const Json& runs = device["runs"];
  return fmt::format(
      "running: repeat {}, attempt {} on {} (device {}, {}), phase {}, step {}, since {}\n",
      runs.value("repeat", 0), runs.value("attempt", 1), device.value("host", "?"),
      device.value("device", 0), device.value("type", "?"), runs.value("phase", "?"),
      runs.value("step", 0), format_seconds(runs.value("since_s", 0.0)));
}

// A sweep that hangs says nothing new: the reader sees how old this is.
std::string as_of(const Json& status) {
  if (!status.contains("utc") || !status.contains("holder")) return "";
  const Json& holder = status["holder"];
  return fmt::format("(as of {}, told by the sweep on host {}, process {})\n",
                     status.value("utc", "?"), holder.value("host", "?"), holder.value("pid", 0));
}

Json list_of(const Json& status, const char* key) {
  const auto it = status.find(key);
  return it != status.end() && it->is_array() ? *it : Json::array();
}

}  // namespace

std::string explain_standing(const sweeps::TrialSpec& spec, const std::string& trial_id,
                             const Json& status) {
  if (!status.is_object())
    return "not run yet, and no sweep is running on this file: batchsweep run goes on with it\n";
  std::string text;
  for (const Json& device : list_of(status, "devices")) {
    if (device.contains("runs") && device["runs"].value("trial", "") == trial_id)
      text += running(device);
  }
  const Json next = list_of(status, "next");
  for (const Json& waiting : next) {
    if (waiting.value("trial", "") == trial_id)
      text += fmt::format("waiting: repeat {}: {}\n", waiting.value("repeat", 0),
                          waiting.value("why", ""));
  }
  for (const Json& skipped : list_of(status, "skipped")) {
    const bool same = skipped.value("gpu", "") == spec.gpu &&
                      skipped.value("precision", "") == spec.precision &&
                      skipped.value("world_size", std::int64_t{1}) == spec.world_size;
    if (same) text += fmt::format("skipped: {}\n", skipped.value("why", ""));
  }
  if (!text.empty()) return text + as_of(status);
  for (const Json& waits : list_of(status, "waits")) {
    const bool same = waits.value("gpu", "") == spec.gpu &&
                      waits.value("world_size", std::int64_t{1}) == spec.world_size &&
                      waits.value("num_nodes", "min") == spec.num_nodes &&
                      waits.value("pinned_to", "") == spec.pinned_to;
    if (same)
      return fmt::format("waiting: the first of {} trials that need the same {}\n{}",
                         waits.value("waiting", std::int64_t{0}), waits.value("why", ""),
                         as_of(status));
  }
  const auto waiting =
      status.contains("counts") ? status["counts"].value("waiting", std::int64_t{0}) : 0;
  text = fmt::format("waiting: {} trials wait, others stand before it", waiting);
  if (!next.empty())
    text += fmt::format("; the next one waits because: {}", next.front().value("why", ""));
  return text + '\n' + as_of(status);
}

}  // namespace batchsweep::results
