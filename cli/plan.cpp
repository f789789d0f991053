// SPDX-License-Identifier: Apache-2.0
#include "cli/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/units.hpp"
#include "orchestrator/trial_class.hpp"
#include "results/store/reader.hpp"
#include "results/store/recorded.hpp"
#include "results/store/rerun.hpp"
#include "sweeps/axis_table.hpp"

namespace batchsweep::cli {
namespace {

std::optional<double> mean_s(const Durations& durations, const sweeps::TrialSpec& spec) {
  const auto it = durations.by_gpu_and_model.find({spec.gpu, spec.model});
  if (it == durations.by_gpu_and_model.end()) return std::nullopt;
  return it->second.total_s / static_cast<double>(it->second.count);
}

using FinalRows =
    std::unordered_map<std::uint64_t,
                       std::map<std::int64_t, std::string>>;  // id -> repeat -> outcome

FinalRows final_rows(const std::vector<results::RecordedState>& states, std::int64_t retries) {
  FinalRows rows;
  for (const results::RecordedState& state : states) {
    if (results::is_final(state, retries))
      rows[state.trial.value][state.repeat] = std::string(to_text(state.outcome));
  }
  return rows;
}

std::string state_of(std::int64_t done, std::int64_t repeats, bool here,
                     const std::map<std::int64_t, std::string>& outcomes) {
  if (done == repeats) return repeats == 1 ? outcomes.begin()->second : "recorded";
  if (!here) return "no such device";
  return done == 0 ? "to run" : fmt::format("{} of {} recorded", done, repeats);
}

// Axes of the grid, each with whether it varies. The batch, the model and the device are always of
// interest.
struct ShownAxes {
  std::vector<std::string> varying, fixed;
};
ShownAxes shown_axes(const sweeps::SweepSpec& sweep) {
  ShownAxes shown;
  for (const sweeps::AxisInfo& info : sweeps::axis_table()) {
    std::set<std::string> values;
    std::size_t blocks = 0;
    for (const sweeps::GridBlock& block : sweep.grid) {
      for (const sweeps::Axis& axis : block.axes) {
        if (axis.name != info.name) continue;
        ++blocks;
        values.insert(axis.values.begin(),
                      axis.values.begin() + static_cast<std::ptrdiff_t>(
                                                std::min<std::size_t>(axis.values.size(), 2)));
      }
    }
    const bool always = info.name == "gpu" || info.name == "model" || info.name == "batch_size";
    if (always || values.size() > 1 || (blocks > 0 && blocks < sweep.grid.size())) {
      shown.varying.emplace_back(info.name);
    } else if (values.size() == 1) {
      shown.fixed.emplace_back(info.name);
    }
  }
  return shown;
}

// The scheduler's own word on what could ever run here. Neighbours in the grid mostly need the
// same.
class Holds {
 public:
  Holds(const sweeps::SweepSpec& sweep, const Present& present)
      : exclusive_host_(sweep.exclusive_host), scheduler_({.over_hosts = true}) {
    for (const orchestrator::DeviceView& device : present.devices) scheduler_.add_device(device);
  }
  bool operator()(const sweeps::TrialSpec& spec) {
    orchestrator::Needs needs = orchestrator::needs_of(spec, exclusive_host_);
    if (needs != last_ || last_.gpu.empty()) {
      last_ = std::move(needs);
      held_ = scheduler_.could_hold(scheduler_.shape_of(last_));
    }
    return held_;
  }

 private:
  bool exclusive_host_, held_ = false;
  orchestrator::Scheduler scheduler_;
  orchestrator::Needs last_;
};

std::string what_is_absent(const sweeps::TrialSpec& spec, bool type_there) {
  if (!type_there) return spec.gpu;
  std::string text = fmt::format("{} x {}", spec.world_size, spec.gpu);
  if (spec.num_nodes != "min") text += fmt::format(" on {} hosts", spec.num_nodes);
  if (!spec.pinned_to.empty()) text += " on " + spec.pinned_to;
  return text;
}

bool is_pinned(const sweeps::SweepSpec& sweep) {
  const auto names_places = [](const sweeps::GridBlock& block) {
    return std::ranges::count(block.axes, "placement", &sweeps::Axis::name) > 0;
  };
  return sweep.base.placement != "any" || std::ranges::any_of(sweep.grid, names_places);
}

struct Planned {
  const std::map<std::string, std::int64_t>& devices;  // by type
  const Durations& durations;
  std::map<std::string, double> busy_s;  // by type
};

void add_trial(Plan& plan, const sweeps::TrialSpec& spec,
               const std::map<std::int64_t, std::string>& outcomes, bool here, Planned& planned) {
  const std::int64_t repeats = plan.sweep->repeats;
  const std::int64_t done = std::count_if(outcomes.begin(), outcomes.end(),
                                          [&](const auto& entry) { return entry.first < repeats; });
  const std::int64_t left = repeats - done;
  plan.states.push_back(state_of(done, repeats, here, outcomes));
  plan.total += repeats;
  plan.recorded += done;
  if (!here) {
    plan.no_device += left;
    if (left > 0) plan.absent[what_is_absent(spec, planned.devices.contains(spec.gpu))] += left;
    return;
  }
  plan.remaining += left;
  const std::optional<double> duration_s = mean_s(planned.durations, spec);
  if (!duration_s) plan.without_estimate += left;
  if (duration_s)
    planned.busy_s[spec.gpu] += *duration_s * static_cast<double>(left * spec.world_size);
}

}  // namespace

RecordedSweep read_recorded(const std::string& path, sweeps::Origin origin) {
  results::Recorded recorded = results::read_recorded(path);
  if (!recorded.origin.empty())
    results::check_origin(path, recorded.origin, std::string(to_text(origin)));
  RecordedSweep sweep{.runs = recorded.runs,
                      .states = recorded.index.states(recorded.runs),
                      .devices = {},
                      .durations = {}};
  if (!recorded.has_file) return sweep;
  std::set<std::string> counting;
  for (std::size_t i = results::first_that_counts(sweep.runs); i < sweep.runs.size(); ++i)
    counting.insert(sweep.runs[i].run_id);
  (void)results::for_each_result(
      path, {"run_id", "gpu", "gpu_requested", "model", "placement", "pinned_to", "duration_s"},
      [&](const results::TrialRecord& row) {
        sweep.devices.note(row);
        if (!row.duration_s || !counting.contains(row.run_id)) return;
        Durations::Sum& sum = sweep.durations.by_gpu_and_model[{row.gpu_requested, row.model}];
        sum.total_s += *row.duration_s;
        ++sum.count;
      });
  return sweep;
}

Plan make_plan(const sweeps::SweepSpec& sweep, const sweeps::Grid& grid, const Present& present,
               const RecordedSweep& recorded) {
  static const std::map<std::int64_t, std::string> none;
  const FinalRows rows =
      final_rows(results::what_counts(recorded.states, results::Reruns(recorded.runs, &grid)),
                 sweep.limits.retries);
  Plan plan{.sweep = &sweep, .grid = &grid};
  std::map<std::string, std::int64_t> devices;
  for (const orchestrator::DeviceView& device : present.devices) ++devices[device.type];
  Planned planned{.devices = devices, .durations = recorded.durations, .busy_s = {}};
  Holds holds(sweep, present);
  grid.for_each([&](std::size_t i, const sweeps::TrialSpec& spec) {
    const auto row = rows.find(grid.id(i).value);
    add_trial(plan, spec, row == rows.end() ? none : row->second, holds(spec), planned);
  });
  if (plan.without_estimate == plan.remaining) return plan;
  plan.expected_s = plan.device_hours = 0;
  for (const auto& [type, s] : planned.busy_s) {
    *plan.device_hours += s / 3600;
    plan.expected_s = std::max(*plan.expected_s, s / static_cast<double>(devices.at(type)));
  }
  return plan;
}

JobProgress progress_of_job(const sweeps::SweepSpec& sweep, const RecordedSweep& recorded) {
  // Nothing is known of the types of gpu = "all" before the job has run: something is left.
  if (sweeps::asks_for_present_types(sweep) && recorded.devices.empty()) return {.remaining = 1};
  const sweeps::Grid grid = recorded.devices.grid_of(sweep);
  const std::vector<results::RecordedState> states =
      results::what_counts(recorded.states, results::Reruns(recorded.runs, &grid));
  std::unordered_map<std::uint64_t, std::int64_t> settled;  // id -> repeats
  for (const results::RecordedState& state : states) {
    const bool absent = state.has_row && state.outcome == results::Outcome::kSkipped &&
                        state.reason == results::Reason::kDeviceAbsent;
    if (state.repeat < sweep.repeats && (absent || results::is_final(state, sweep.limits.retries)))
      ++settled[state.trial.value];
  }
  JobProgress progress;
  for (std::size_t i = 0; i < grid.size(); ++i) {
    const auto row = settled.find(grid.id(i).value);
    progress.settled += row == settled.end() ? 0 : row->second;
  }
  progress.remaining = static_cast<std::int64_t>(grid.size()) * sweep.repeats - progress.settled;
  // Rows tell of no host or device that has none yet: another start, which finds nothing, will.
  if (is_pinned(sweep)) progress.remaining = std::max<std::int64_t>(progress.remaining, 1);
  return progress;
}

std::string summary(const Plan& plan) {
  std::string text = fmt::format("{}: {} trials", plan.sweep->name, plan.grid->size());
  if (plan.sweep->repeats > 1) text += fmt::format(", {} times each", plan.sweep->repeats);
  text += fmt::format(": {} recorded, {} to run", plan.recorded, plan.remaining);
  if (plan.no_device > 0) text += fmt::format(", {} skipped", plan.no_device);
  for (const auto& [type, count] : plan.absent)
    text += fmt::format("\n  no {} here: {} skipped", type, count);
  if (plan.expected_s) {
    text += fmt::format("\nexpected: {}, {:.3g} device hours", format_seconds(*plan.expected_s),
                        *plan.device_hours);
    if (plan.without_estimate > 0)
      text += fmt::format(", and {} trials of which nothing similar is recorded",
                          plan.without_estimate);
  } else if (plan.remaining > 0) {
    text +=
        fmt::format("\nexpected: not known before the first trials are recorded; at most {} each",
                    format_seconds(plan.sweep->limits.time_s));
  }
  const sweeps::TrialSpec first = plan.grid->spec(0);
  for (const std::string& axis : shown_axes(*plan.sweep).fixed) {
    text += fmt::format("\n{}: {}", axis, sweeps::axis_value(first, axis));
  }
  return text;
}

Table trials_table(const Plan& plan, std::size_t most) {
  const std::vector<std::string> axes = shown_axes(*plan.sweep).varying;
  Table table{{"trial_id"}, {}};
  table.header.insert(table.header.end(), axes.begin(), axes.end());
  const bool pinned = is_pinned(*plan.sweep);
  if (pinned) table.header.emplace_back("pinned_to");
  table.header.emplace_back("state");
  for (std::size_t p = 0; p < std::min(most, plan.grid->size()); ++p) {
    const sweeps::TrialSpec spec = plan.grid->spec(p);
    std::vector<std::string> row{to_text(plan.grid->id(p))};
    for (const std::string& axis : axes) row.push_back(sweeps::axis_value(spec, axis));
    if (pinned) row.push_back(spec.pinned_to);
    row.push_back(plan.states[p]);
    table.rows.push_back(std::move(row));
  }
  return table;
}

Json plan_json(const Plan& plan) {
  Json json{{"name", plan.sweep->name},    {"repeats", plan.sweep->repeats},
            {"total", plan.total},         {"recorded", plan.recorded},
            {"remaining", plan.remaining}, {"skipped", plan.no_device},
            {"absent", plan.absent}};
  if (plan.expected_s) json["expected_s"] = *plan.expected_s;
  if (plan.device_hours) json["device_hours"] = *plan.device_hours;
  const Table table = trials_table(plan, plan.grid->size());
  Json trials = Json::array();
  for (const auto& row : table.rows) {
    Json trial;
    for (std::size_t c = 0; c < row.size(); ++c) {
      const sweeps::AxisInfo* axis = sweeps::find_axis(table.header[c]);
      const auto number = axis != nullptr && axis->kind == sweeps::ValueKind::kInteger
                              ? sweeps::whole_number(row[c])
                              : std::nullopt;
      trial[table.header[c]] = number ? Json(*number) : Json(row[c]);
    }
    trials.push_back(std::move(trial));
  }
  json["trials"] = std::move(trials);
  return json;
}

}  // namespace batchsweep::cli
