// SPDX-License-Identifier: Apache-2.0
#include "cli/run_setup.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <set>

#include "base/hash.hpp"
#include "base/text.hpp"
#include "cli/build_id.hpp"
#include "cli/software_check.hpp"
#include "results/store/reader.hpp"
#include "results/store/rerun.hpp"
#include "results/store/status_file.hpp"
#include "slurm/batch_script.hpp"
#include "worker/agent/agent.hpp"

namespace batchsweep::cli {
namespace {

// `before`: what counted before this start.
void tell_changes(RunSetup& setup, const std::vector<results::RecordedState>& before) {
  if (before.empty() || setup.store->previous_sweep_text() == setup.sweep.text) return;
  std::set<sweeps::TrialId> known;
  for (const results::RecordedState& state : before) known.insert(state.trial);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < setup.grid->size(); ++i) kept += known.contains(setup.grid->id(i)) ? 1 : 0;
  setup.progress.say(fmt::format(
      "the sweep file has changed since {} was recorded: {} trials kept, {} new, {} no longer asked (their rows stay)",
      setup.results_path, kept, setup.grid->size() - kept, known.size() - kept));
}

void tell_rerun(RunSetup& setup, const std::vector<results::RecordedState>& before) {
  std::set<sweeps::TrialId> asked;
  for (std::size_t i = 0; i < setup.grid->size(); ++i) asked.insert(setup.grid->id(i));
  const auto rows_of_grid = [&](const std::vector<results::RecordedState>& states) {
    return std::count_if(states.begin(), states.end(), [&](const results::RecordedState& state) {
      return state.has_row && asked.contains(state.trial);
    });
  };
  const auto rows = rows_of_grid(before);
  setup.progress.say(fmt::format("--rerun {}: of {} recorded trials {} are measured again", *setup.options.rerun, rows,
                                 rows - rows_of_grid(setup.recorded)));
}

// Of the trials that completed in earlier sessions: by them the next ones are ordered.
std::vector<orchestrator::KnownTime> known_times(const std::string& path) {
  std::vector<orchestrator::KnownTime> times;
  if (!std::filesystem::exists(path)) return times;
  (void)results::for_each_result(path, {"trial_id", "outcome", "duration_s"}, [&](const results::TrialRecord& row) {
    const auto id = sweeps::parse_trial_id(row.trial_id);
    if (id && row.duration_s && row.outcome == to_text(results::Outcome::kCompleted)) times.push_back({*id, *row.duration_s});
  });
  return times;
}

}  // namespace

std::string results_path(const sweeps::SweepSpec& sweep, const std::optional<std::string>& asked,
                         const std::optional<std::string>& job) {
  if (asked) return *asked;
  return job ? slurm::results_of_job(sweep.name + ".h5", *job) : sweep.name + ".h5";
}

RunSetup::RunSetup(const RunOptions& run_options, const Clock& wall_clock)
    : options(run_options), clock(wall_clock), progress(wall_clock.now()) {
  sweep = sweeps::read_sweep_file(options.sweep_file, options.file);
  if (options.job) sweeps::choose_job(sweep, *options.job);
  for (const std::string& only : options.only) sweep.only.push_back(sweeps::parse_only(only));
  if (options.rerun) (void)results::parse_rerun(*options.rerun);
  results_path = cli::results_path(sweep, options.results, options.job);
  time_limit = cli::time_limit(options.until, options.budget, clock);
  end_of_job = cli::end_of_job(clock);
}

std::string sweep_hash(const std::string& path) {
  try {
    return hex(sha256_file(path));
  } catch (const IoError&) {
    return "";
  }
}

RunSetup::~RunSetup() {
  if (store != nullptr) results::remove_status(results_path);
}

std::string needed_program(const sweeps::SweepSpec& sweep) {
  if (sweep.rehearsal && sweep.rehearsal->simulated) return "";
  const auto is_other = [&](const std::string& name) {
    return std::any_of(sweep.runtimes.begin(), sweep.runtimes.end(),
                       [&](const sweeps::Runtime& runtime) { return runtime.name == name && !runtime.command.empty(); });
  };
  const bool only_others = std::all_of(sweep.grid.begin(), sweep.grid.end(), [&](const sweeps::GridBlock& block) {
    const auto axis = std::find_if(block.axes.begin(), block.axes.end(),
                                   [](const sweeps::Axis& candidate) { return candidate.name == "runtime"; });
    return axis == block.axes.end() ? is_other(sweep.base.runtime)
                                    : std::all_of(axis->values.begin(), axis->values.end(), is_other);
  });
  if (only_others) return "";
  return sweep.rehearsal ? "batchsweep-player" : "batchsweep-trial";
}

void check_setup(RunSetup& setup) {
  if (const std::string program = needed_program(setup.sweep); !program.empty()) {
    if (const auto missing = agent::missing_program(setup.options.program, program)) throw IoError(*missing);
  }
  // Otherwise what is here must be known first; then an error takes back what was written.
  if (!sweeps::asks_for_present_types(setup.sweep)) setup.grid = std::make_unique<sweeps::Grid>(setup.sweep, std::vector<std::string>{});
}

void open_results(RunSetup& setup) {
  results::StoreOptions store;
  store.path = setup.results_path;
  store.origin = setup.sweep.rehearsal ? sweeps::Origin::kRehearsed : sweeps::Origin::kMeasured;
  store.site = setup.sweep.site;
  store.sweep_text = setup.sweep.text;
  store.site_text = setup.sweep.site_text;
  store.sweep_inputs = sweeps::inputs_text(setup.sweep);
  store.sweep_name = setup.sweep.name;
  store.rerun = setup.options.rerun;
  store.publish_program = setup.options.program;
  setup.store = std::make_unique<results::ResultsStore>(store, setup.clock);
  for (const std::string& notice : setup.store->notices()) setup.progress.say(notice);
  if (!store.rerun && !setup.options.accept_changes && !setup.sweep.rehearsal) {
    refuse_changed_software(setup.results_path, setup.store->recorded_software(), setup.options.program);
  }
  setup.recorder = std::make_unique<SweepRecorder>(*setup.store, setup.clock, setup.progress);
}

void make_core(RunSetup& setup, const Present& present, int agents) {
  if (setup.grid == nullptr) setup.grid = std::make_unique<sweeps::Grid>(setup.sweep, present.types, present.targets);
  std::vector<results::RunInfo> runs = setup.store->runs();
  setup.recorded = results::what_counts(setup.store->recorded(), {runs, setup.grid.get()});
  if (setup.options.rerun && runs.size() > 1) {
    runs.pop_back();
    const std::vector<results::RecordedState> before =
        results::what_counts(setup.store->recorded(), {runs, setup.grid.get()});
    tell_changes(setup, before);
    tell_rerun(setup, before);
  } else {
    tell_changes(setup, setup.recorded);
  }
  orchestrator::CoreOptions options;
  options.agents_expected = agents;
  options.max_trials = setup.options.max_trials.value_or(-1);
  options.quarantine = setup.sweep.rehearsal ? setup.options.quarantine : !setup.options.no_quarantine;
  options.file_id = setup.store->file_id();
  const bool simulated = setup.sweep.rehearsal && setup.sweep.rehearsal->simulated;
  if (!simulated) {  // simulated agents are of no build and see no file, simulated trials have a time of their own
    options.build_id = build_id();
    options.sweep_hash = sweep_hash(setup.options.sweep_file);
    options.hard_end = setup.end_of_job;
    if (setup.time_limit) options.soft_end = setup.time_limit->at;
  }
  options.known_times = known_times(setup.results_path);
  setup.store->begin();
  setup.core = std::make_unique<orchestrator::Core>(setup.sweep, *setup.grid, setup.recorded, options);
}

ExitCode finish_run(RunSetup& setup, const Ending& ending) {
  setup.progress.finish();
  results::remove_status(setup.results_path);
  setup.store->close();
  const orchestrator::Progress progress = setup.core->progress();
  std::string summary = fmt::format("{}: {} of {} trials recorded", setup.results_path, progress.done, progress.total);
  if (progress.failures > 0) summary += fmt::format(", {} of them failed", progress.failures);
  if (progress.absent > 0) summary += fmt::format(", {} need a device that is not here", progress.absent);
  std::puts((summary + fmt::format(". Next: batchsweep report {}", shell_word(setup.results_path))).c_str());
  if (ending.interrupted) return ExitCode::kInterrupted;
  if (setup.core->work_left()) return ExitCode::kWorkLeft;
  return progress.failures > 0 ? ExitCode::kFailedTrials : ExitCode::kDone;
}

}  // namespace batchsweep::cli
