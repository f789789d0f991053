// SPDX-License-Identifier: Apache-2.0
#include "results/report/groups.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <unordered_map>

#include "results/report/statistics.hpp"

namespace batchsweep::results {
namespace {

constexpr double kAbsent = std::numeric_limits<double>::quiet_NaN();
constexpr std::uint32_t kNoDetail = std::numeric_limits<std::uint32_t>::max();

double or_absent(const Number& number) { return number.value_or(kAbsent); }

std::uint64_t trial_number(const std::string& hex) {
  std::uint64_t value = 0;
  std::from_chars(hex.data(), hex.data() + hex.size(), value, 16);
  return value;
}

// One row, as small as the answers allow: a million of them are held at once.
struct Row {
  std::uint32_t group = 0, run = 0, file = 0, detail = kNoDetail;
  std::int32_t repeat = 0;
  std::int64_t batch = 0, global_batch = 0, sequence = 0;
  std::uint64_t trial = 0;
  Outcome outcome = Outcome::kCompleted;
  std::uint8_t execution = 0;
  bool counts = false, not_alone = false, not_native = false, short_batches = false;
  double samples_per_s = kAbsent, rate_low = kAbsent, rate_high = kAbsent, tokens_per_s = kAbsent;
  double step_time_s = kAbsent, step_time_low = kAbsent, step_time_high = kAbsent;
  double skipped_steps = kAbsent;
  double peak_allocated = kAbsent, peak_reserved = kAbsent, peak_device_used = kAbsent;
  double limit = kAbsent, oom_requested = kAbsent, oom_allocated = kAbsent, oom_reserved = kAbsent;
};

struct KeyHash {
  std::size_t operator()(const AxisKey& key) const {
    std::uint64_t hash = 0xcbf29ce484222325U;
    for (const std::uint32_t value : key) hash = (hash ^ value) * 0x100000001b3U;
    return static_cast<std::size_t>(hash ^ (hash >> 32U));
  }
};

// Samples that full batches would have made in the timed window; absent where the row does not say.
double full_samples(const TrialRecord& trial) {
  return or_absent(trial.timed_steps) * static_cast<double>(trial.global_batch_size);
}

bool counts_as_fit(const TrialRecord& trial) {
  if (trial.applied_steps && *trial.applied_steps < 2)
    return false;  // optimizer state may be missing
  // A mean of half a batch or less: no step had all samples (a last, short batch alone keeps it
  // above).
  return !(2 * or_absent(trial.samples) <= full_samples(trial));
}

void copy_numbers(const TrialRecord& trial, Row& row) {
  row.samples_per_s = or_absent(trial.samples_per_s);
  row.rate_low = or_absent(trial.samples_per_s_ci_low);
  row.rate_high = or_absent(trial.samples_per_s_ci_high);
  row.tokens_per_s = or_absent(trial.tokens_per_s);
  row.step_time_s = or_absent(trial.step_time_median_s);
  row.step_time_low = or_absent(trial.step_time_median_ci_low_s);
  row.step_time_high = or_absent(trial.step_time_median_ci_high_s);
  row.skipped_steps = or_absent(trial.skipped_steps);
  row.peak_allocated = or_absent(trial.peak_allocated_bytes);
  row.peak_reserved = or_absent(trial.peak_reserved_bytes);
  row.peak_device_used = or_absent(trial.peak_device_used_bytes);
  const Number memory = trial.memory_cap_bytes ? trial.memory_cap_bytes : trial.device_memory_bytes;
  row.limit = trial.oom_limit_bytes ? *trial.oom_limit_bytes
                                    : or_absent(memory) - trial.reserve_bytes.value_or(0);
  row.oom_requested = or_absent(trial.oom_requested_bytes);
  row.oom_allocated = or_absent(trial.oom_allocated_bytes);
  row.oom_reserved = or_absent(trial.oom_reserved_bytes);
}

std::optional<double> median_of(const std::vector<const Row*>& rows, double Row::*member) {
  std::vector<double> values;
  for (const Row* row : rows) {
    if (!std::isnan(row->*member)) values.push_back(row->*member);
  }
  return median(std::move(values));
}

std::optional<double> extreme_of(const std::vector<const Row*>& rows, double Row::*member,
                                 bool largest) {
  std::optional<double> extreme;
  for (const Row* row : rows) {
    const double value = row->*member;
    if (std::isnan(value)) continue;
    if (!extreme || (largest ? value > *extreme : value < *extreme)) extreme = value;
  }
  return extreme;
}

void fill_medians(const std::vector<const Row*>& counted, BatchPoint& point) {
  point.samples_per_s = median_of(counted, &Row::samples_per_s);
  point.tokens_per_s = median_of(counted, &Row::tokens_per_s);
  point.step_time_s = median_of(counted, &Row::step_time_s);
  point.step_time_low_s = extreme_of(counted, &Row::step_time_low, false);
  point.step_time_high_s = extreme_of(counted, &Row::step_time_high, true);
  point.rate_low = extreme_of(counted, &Row::rate_low, false);
  point.rate_high = extreme_of(counted, &Row::rate_high, true);
  point.peak_allocated_bytes = median_of(counted, &Row::peak_allocated);
  point.peak_reserved_bytes = median_of(counted, &Row::peak_reserved);
  point.peak_device_used_bytes = median_of(counted, &Row::peak_device_used);
  for (const Row* row : counted) {
    point.not_alone = point.not_alone || row->not_alone;
    point.not_native = point.not_native || row->not_native;
    point.short_batches = point.short_batches || row->short_batches;
    if (row->skipped_steps > 0)
      point.skipped_steps =
          std::max<std::int64_t>(point.skipped_steps, std::llround(row->skipped_steps));
  }
}

// `rows`: all of one group and batch, by trial.
BatchPoint make_point(const std::vector<const Row*>& rows) {
  BatchPoint point;
  point.batch = rows.front()->batch;
  point.global_batch = rows.front()->global_batch;
  std::vector<const Row*> counted, out_of_memory;
  const Row* previous = nullptr;
  for (const Row* row : rows) {
    ++point.outcomes[static_cast<std::size_t>(row->outcome)];
    if (!previous || previous->trial != row->trial) ++point.trials;
    previous = row;
    if (row->counts) counted.push_back(row);
    if (row->outcome == Outcome::kOutOfMemory) out_of_memory.push_back(row);
  }
  point.counted = static_cast<std::int64_t>(counted.size());
  fill_medians(counted, point);
  point.limit_bytes = median_of(rows, &Row::limit);
  point.oom_requested_bytes = median_of(out_of_memory, &Row::oom_requested);
  point.oom_allocated_bytes = median_of(out_of_memory, &Row::oom_allocated);
  point.oom_reserved_bytes = median_of(out_of_memory, &Row::oom_reserved);
  return point;
}

}  // namespace

struct GroupBuilder::State {
  Groups result;
  std::vector<Row> rows;
  std::vector<Group> groups;
  std::unordered_map<AxisKey, std::uint32_t, KeyHash> group_index;
  std::unordered_map<std::string, std::uint32_t> run_index, skipped_index;
  std::vector<std::string> run_ids, executions;
  std::vector<Failure> failures;
  std::vector<SkippedTrials> skipped;
  std::uint32_t last_run = 0;

  std::uint32_t run_of(const std::string& run_id) {
    if (last_run < run_ids.size() && run_ids[last_run] == run_id) return last_run;
    const auto [it, added] =
        run_index.try_emplace(run_id, static_cast<std::uint32_t>(run_ids.size()));
    if (added) run_ids.push_back(run_id);
    return last_run = it->second;
  }

  std::uint8_t execution_of(const TrialRecord& trial) {
    const auto it = std::find(executions.begin(), executions.end(), trial.execution);
    if (it != executions.end()) return static_cast<std::uint8_t>(it - executions.begin());
    executions.push_back(trial.execution);
    return static_cast<std::uint8_t>(executions.size() - 1);
  }

  std::uint32_t group_of(const TrialRecord& trial) {
    const AxisKey key = result.values.intern(trial);
    const auto [it, added] =
        group_index.try_emplace(key, static_cast<std::uint32_t>(groups.size()));
    if (added) groups.push_back({.key = key, .emulated = false, .points = {}});
    groups[it->second].emulated |= trial.emulated;
    return it->second;
  }

  std::uint32_t detail_of(const TrialRecord& trial, const Row& row) {
    if (row.outcome == Outcome::kSkipped) {
      const auto [it, added] = skipped_index.try_emplace(
          trial.reason + '\n' + trial.message, static_cast<std::uint32_t>(skipped.size()));
      if (added) skipped.push_back({trial.reason, trial.message, 0});
      return it->second;
    }
    if (!is_failure(row.outcome)) return kNoDetail;
    failures.push_back({.group = row.group,
                        .batch = trial.batch_size,
                        .trial_id = trial.trial_id,
                        .repeat = trial.repeat,
                        .attempt = trial.attempt,
                        .sequence = trial.sequence,
                        .outcome = row.outcome,
                        .reason = trial.reason,
                        .phase = trial.phase,
                        .message = trial.message,
                        .hostname = trial.hostname,
                        .guilty_rank = trial.guilty_rank,
                        .exit_code = trial.exit_code,
                        .signal = trial.signal});
    return static_cast<std::uint32_t>(failures.size() - 1);
  }

  [[nodiscard]] RowName name_of(const Row& row) const {
    return {row.file, run_ids[row.run], row.trial, row.repeat, row.outcome};
  }
  void keep_rows(const std::function<bool(const RowName&)>& keep);
  void complete_provenance(AxisIndex axis, AxisIndex by);
  void sort_groups(const AxisOrder& order);
  void drop_doubles();
  void count_rows();
  void make_points();
};

// Forgets the rows that do not count, and the groups that only they had.
void GroupBuilder::State::keep_rows(const std::function<bool(const RowName&)>& keep) {
  std::erase_if(rows, [&](const Row& row) { return !keep(name_of(row)); });
  constexpr std::uint32_t unused = kNoDetail;
  std::vector<std::uint32_t> place(groups.size(), unused);
  std::vector<Group> used;
  for (Row& row : rows) {
    if (place[row.group] == unused) {
      place[row.group] = static_cast<std::uint32_t>(used.size());
      used.push_back(groups[row.group]);
    }
    row.group = place[row.group];
  }
  groups = std::move(used);
}

// A row that ended before its process spoke lacks a column that the others of its kind have. Where
// these agree, it belongs to them; a group of its own would hide what it says about the boundary.
void GroupBuilder::State::complete_provenance(AxisIndex axis, AxisIndex by) {
  std::map<std::uint32_t, std::set<std::uint32_t>> said;
  for (const Group& group : groups) {
    if (!result.values.text(axis, group.key).empty()) said[group.key[by]].insert(group.key[axis]);
  }
  for (Group& group : groups) {
    const auto it = said.find(group.key[by]);
    const bool silent = result.values.text(axis, group.key).empty();
    if (silent && it != said.end() && it->second.size() == 1) group.key[axis] = *it->second.begin();
  }
}

// Sorts the groups by their axes and merges equal ones.
void GroupBuilder::State::sort_groups(const AxisOrder& order) {
  const auto ranks = result.values.ranks(order);
  const auto before = [&](const AxisKey& a, const AxisKey& b) {
    for (std::size_t axis = 0; axis < kAxisCount; ++axis) {
      if (a[axis] != b[axis]) return ranks[axis][a[axis]] < ranks[axis][b[axis]];
    }
    return false;
  };
  std::vector<std::uint32_t> sorted(groups.size()), place(groups.size());
  std::iota(sorted.begin(), sorted.end(), 0U);
  std::sort(sorted.begin(), sorted.end(),
            [&](std::uint32_t a, std::uint32_t b) { return before(groups[a].key, groups[b].key); });
  for (const std::uint32_t old : sorted) {
    if (result.groups.empty() || result.groups.back().key != groups[old].key)
      result.groups.push_back({.key = groups[old].key, .emulated = false, .points = {}});
    result.groups.back().emulated |= groups[old].emulated;
    place[old] = static_cast<std::uint32_t>(result.groups.size() - 1);
  }
  for (Row& row : rows) row.group = place[row.group];
}

void GroupBuilder::State::drop_doubles() {
  const auto which = [](const Row& row) {
    return std::tuple(row.group, row.batch, row.trial, row.repeat, row.run);
  };
  std::sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) {
    return std::tuple_cat(which(a), std::tuple(a.sequence)) <
           std::tuple_cat(which(b), std::tuple(b.sequence));
  });
  rows.erase(std::unique(rows.begin(), rows.end(),
                         [&](const Row& a, const Row& b) { return which(a) == which(b); }),
             rows.end());
}

void GroupBuilder::State::count_rows() {
  result.rows = static_cast<std::int64_t>(rows.size());
  std::set<std::string> said;
  for (const Row& row : rows) {
    if (!executions[row.execution].empty()) said.insert(executions[row.execution]);
    ++result.outcomes[static_cast<std::size_t>(row.outcome)];
    if (row.detail == kNoDetail) continue;
    if (row.outcome == Outcome::kSkipped) {
      ++skipped[row.detail].trials;
    } else {
      result.failures.push_back(std::move(failures[row.detail]));
      result.failures.back().group = row.group;
    }
  }
  std::sort(result.failures.begin(), result.failures.end(), [](const Failure& a, const Failure& b) {
    return std::tie(a.sequence, a.trial_id, a.repeat) < std::tie(b.sequence, b.trial_id, b.repeat);
  });
  result.skipped = std::move(skipped);
  result.executions.assign(said.begin(), said.end());
}

void GroupBuilder::State::make_points() {
  std::vector<const Row*> same;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    // A skipped trial says nothing of its batch.
    if (rows[i].outcome != Outcome::kSkipped) same.push_back(&rows[i]);
    const bool last = i + 1 == rows.size() || rows[i + 1].group != rows[i].group ||
                      rows[i + 1].batch != rows[i].batch;
    if (!last) continue;
    if (!same.empty()) result.groups[rows[i].group].points.push_back(make_point(same));
    same.clear();
  }
}

bool follows_from(const Groups& groups, std::size_t axis, std::size_t by) {
  constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
  std::vector<std::uint32_t> found(groups.values.count(by), none);
  for (const Group& group : groups.groups) {
    if (group.points.empty()) continue;
    std::uint32_t& value = found[group.key[by]];
    if (value != none && value != group.key[axis]) return false;
    value = group.key[axis];
  }
  return true;
}

GroupBuilder::GroupBuilder() : state_(new State) {}
GroupBuilder::~GroupBuilder() = default;

void GroupBuilder::add(const TrialRecord& trial, std::uint32_t file) {
  State& s = *state_;
  const std::optional<Outcome> outcome = from_text<Outcome>(trial.outcome);
  if (!outcome) {
    ++s.result.unknown_outcomes;
    return;
  }
  Row row;
  row.group = s.group_of(trial);
  row.run = s.run_of(trial.run_id);
  row.file = file;
  row.execution = s.execution_of(trial);
  row.repeat = static_cast<std::int32_t>(trial.repeat);
  row.batch = trial.batch_size;
  row.global_batch = trial.global_batch_size;
  row.sequence = trial.sequence;
  row.trial = trial_number(trial.trial_id);
  row.outcome = *outcome;
  row.counts = *outcome == Outcome::kCompleted && counts_as_fit(trial);
  row.not_alone = trial.neighbours_max.value_or(0) > 0;
  row.not_native = !trial.precision_native;
  row.short_batches = or_absent(trial.samples) < full_samples(trial);
  copy_numbers(trial, row);
  row.detail = s.detail_of(trial, row);
  s.rows.push_back(row);
}

void GroupBuilder::for_each_row(const std::function<void(const RowName&)>& visit) const {
  for (const Row& row : state_->rows) visit(state_->name_of(row));
}

Groups GroupBuilder::finish(const AxisOrder& order,
                            const std::function<bool(const RowName&)>& keep) && {
  State& s = *state_;
  s.keep_rows(keep);
  s.complete_provenance(kDeviceName, kGpu);
  s.complete_provenance(kTorchVersion, kRuntime);
  s.sort_groups(order);
  s.drop_doubles();
  s.make_points();
  s.count_rows();
  return std::move(s.result);
}

}  // namespace batchsweep::results
