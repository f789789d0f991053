// SPDX-License-Identifier: Apache-2.0
#include "results/report/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "base/check.hpp"
#include "results/record/fields.hpp"
#include "results/report/current_sweep.hpp"

namespace batchsweep::results {
namespace {

ReportedFile describe(const ResultsFile& file) {
  ReportedFile reported;
  reported.path = file.path;
  reported.sweep_name = file.sweep_name;
  if (file.runs.empty()) return reported;
  reported.run_id = file.runs.back().run_id;
  reported.created_utc = file.runs.back().created_utc;
  reported.site = file.runs.back().site;
  return reported;
}

void add_notices(Report& report) {
  for (const ReportedFile& file : report.files) {
    if (file.rows_of_older_runs + file.rows_no_longer_asked == 0) continue;
    report.notices.push_back(
        fmt::format("{}: left out {} rows of older runs that count no more and {} that the newest "
                    "sweep text no longer asks for (--all shows them)",
                    file.path, file.rows_of_older_runs, file.rows_no_longer_asked));
  }
  if (report.groups.unknown_outcomes > 0)
    report.notices.push_back(
        fmt::format("{} rows end in a way that this version does not know: left out",
                    report.groups.unknown_outcomes));
  std::int64_t pooled = 0;
  for (const Group& group : report.groups.groups) {
    pooled += std::count_if(group.points.begin(), group.points.end(),
                            [](const BatchPoint& point) { return point.trials > 1; });
  }
  if (pooled > 0)
    report.notices.push_back(
        fmt::format("{} batches hold trials that differ in settings without a column here "
                    "(learning rate, limits of a device, "
                    "steps ...): their median is shown",
                    pooled));
}

// The column of a member, from the field table.
std::string_view column(Field<TrialRecord>::Member member) {
  for (const Field<TrialRecord>& field : fields_of<TrialRecord>()) {
    if (field.member == member) return field.name;
  }
  assertion_failed("every column of the report is a field", __FILE__, __LINE__);
}

}  // namespace

std::vector<std::string_view> report_columns() {
  using R = TrialRecord;
  const std::vector<Field<R>::Member> members = {
      &R::run_id, &R::trial_id, &R::repeat, &R::attempt, &R::sequence, &R::origin, &R::outcome,
      &R::reason, &R::message, &R::phase, &R::hostname, &R::guilty_rank, &R::exit_code, &R::signal,
      // axes
      &R::gpu, &R::gpu_requested, &R::device_name, &R::emulated, &R::model, &R::precision,
      &R::activation_checkpointing, &R::data, &R::env, &R::gradient_accumulation_steps,
      &R::image_height, &R::image_width, &R::memory_format, &R::num_nodes, &R::optimizer,
      &R::pinned_to, &R::placement, &R::runtime, &R::seed, &R::sequence_length, &R::torch_version,
      &R::world_size, &R::batch_size, &R::global_batch_size,
      // numbers
      &R::execution, &R::precision_native, &R::device_memory_bytes, &R::memory_cap_bytes,
      &R::reserve_bytes, &R::timed_steps, &R::applied_steps, &R::skipped_steps, &R::samples,
      &R::samples_per_s, &R::samples_per_s_ci_low, &R::samples_per_s_ci_high, &R::tokens_per_s,
      &R::step_time_median_s, &R::step_time_median_ci_low_s, &R::step_time_median_ci_high_s,
      &R::neighbours_max, &R::peak_allocated_bytes, &R::peak_reserved_bytes,
      &R::peak_device_used_bytes, &R::oom_requested_bytes, &R::oom_allocated_bytes,
      &R::oom_reserved_bytes, &R::oom_limit_bytes};
  std::vector<std::string_view> names;
  for (const auto& member : members) names.push_back(column(member));
  return names;
}

struct ReportBuilder::State {
  explicit State(ReportOptions chosen) : options(std::move(chosen)), only(options.only) {}

  // What decides about the rows of a file; known once they were all read.
  struct File {
    std::vector<std::string> runs;  // ids, oldest first
    CurrentSweep sweep;
    std::vector<RecordedState> counting;  // where several runs count; by trial and repeat
    bool any_asked_for = false;           // a row that counts belongs to the newest sweep text

    [[nodiscard]] bool several() const { return sweep.reruns.first() + 1 < runs.size(); }
    [[nodiscard]] std::optional<std::size_t> place_of(const std::string& run_id) const;
    [[nodiscard]] bool counts(const RowName& row) const;
  };

  void find_what_counts();
  void note_asked_for();
  [[nodiscard]] bool keep(const RowName& row);
  void tell_what_cannot_be_told();

  ReportOptions options;
  RowFilter only;
  GroupBuilder groups;
  AxisOrder order;
  std::vector<File> files;
  std::vector<ReportedFile> reported;
  std::vector<std::string> notices;
  SeenDevices devices;  // of the file that is being read
};

// From the newest on: most rows are of that one.
std::optional<std::size_t> ReportBuilder::State::File::place_of(const std::string& run_id) const {
  for (std::size_t i = runs.size(); i-- > 0;) {
    if (runs[i] == run_id) return i;
  }
  return std::nullopt;
}

bool ReportBuilder::State::File::counts(const RowName& row) const {
  const std::optional<std::size_t> run = place_of(row.run_id);
  if (!run || *run < sweep.reruns.first()) return false;
  if (!several()) return true;
  const auto wanted = std::tuple(sweeps::TrialId{row.trial_id}, row.repeat);
  const auto name = [](const RecordedState& state) {
    return std::tuple(state.trial, state.repeat);
  };
  const auto found = std::ranges::lower_bound(counting, wanted, {}, name);
  return found != counting.end() && name(*found) == wanted && found->run == *run;
}

void ReportBuilder::State::find_what_counts() {
  if (std::ranges::none_of(files, &File::several)) return;
  groups.for_each_row([&](const RowName& row) {
    File& file = files[row.file];
    const std::optional<std::size_t> run =
        file.several() ? file.place_of(row.run_id) : std::nullopt;
    if (!run) return;
    RecordedState& state = file.counting.emplace_back();
    state.trial = {row.trial_id};
    state.repeat = row.repeat;
    state.outcome = row.outcome;
    state.has_row = true;
    state.run = static_cast<std::uint32_t>(*run);
  });
  for (File& file : files) file.counting = what_counts(std::move(file.counting), file.sweep.reruns);
}

void ReportBuilder::State::note_asked_for() {
  groups.for_each_row([&](const RowName& row) {
    File& file = files[row.file];
    if (!file.any_asked_for && file.sweep.trial_ids && file.sweep.asks_for(row.trial_id))
      file.any_asked_for = file.counts(row);
  });
}

bool ReportBuilder::State::keep(const RowName& row) {
  const File& file = files[row.file];
  if (options.all || file.runs.empty()) return true;
  if (!file.counts(row)) {
    ++reported[row.file].rows_of_older_runs;
    return false;
  }
  if (!file.any_asked_for || file.sweep.asks_for(row.trial_id)) return true;
  ++reported[row.file].rows_no_longer_asked;
  return false;
}

// Where the newest sweep text does not decide, all rows that count are shown, and that is said.
void ReportBuilder::State::tell_what_cannot_be_told() {
  for (std::size_t i = 0; i < files.size(); ++i) {
    const File& file = files[i];
    if (file.any_asked_for || file.runs.empty()) continue;
    if (!file.sweep.why_unknown.empty())
      notices.push_back(
          fmt::format("{}: the newest sweep text cannot be read here, so rows that it no longer "
                      "asks for are shown too: {}",
                      reported[i].path, file.sweep.why_unknown));
    else if (file.sweep.trial_ids)
      notices.push_back(
          fmt::format("{}: no row belongs to the newest sweep text, so every row that counts "
                      "is shown; batchsweep run measures those that it asks for",
                      reported[i].path));
    if (file.sweep.reruns.any_filter())
      notices.push_back(
          fmt::format("{}: for the same reason it cannot be told which older rows a --rerun with a "
                      "filter asks for again: they are shown until they are measured",
                      reported[i].path));
  }
}

ReportBuilder::ReportBuilder(ReportOptions options) : state_(new State(std::move(options))) {}
ReportBuilder::~ReportBuilder() = default;

void ReportBuilder::add(const TrialRecord& trial) {
  State& s = *state_;
  s.devices.note(trial);
  if (s.only.matches(trial)) s.groups.add(trial, static_cast<std::uint32_t>(s.files.size()));
}

void ReportBuilder::end_file(const ResultsFile& file) {
  State& s = *state_;
  State::File& added = s.files.emplace_back();
  for (const RunInfo& run : file.runs) added.runs.push_back(run.run_id);
  added.sweep = read_current_sweep(file, std::exchange(s.devices, {}), !s.options.all);
  merge_order(added.sweep.order, s.order);
  s.reported.push_back(describe(file));
  if (!file.rows_missing.empty()) s.notices.push_back(file.rows_missing);
}

Report ReportBuilder::finish() && {
  State& s = *state_;
  if (!s.options.all) s.find_what_counts();
  if (!s.options.all) s.note_asked_for();
  Groups groups =
      std::move(s.groups).finish(s.order, [&](const RowName& row) { return s.keep(row); });
  if (!s.options.all && groups.rows > 0) s.tell_what_cannot_be_told();
  Report report = answer(std::move(groups), s.options.reference);
  report.files = std::move(s.reported);
  report.notices = std::move(s.notices);
  add_notices(report);
  return report;
}

}  // namespace batchsweep::results
