// SPDX-License-Identifier: Apache-2.0
#include "cli/run_setup.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <set>

#include "cli/software_check.hpp"
#include "results/store/status_file.hpp"

namespace batchsweep::cli {
namespace {

void tell_changes(RunSetup& setup) {
  const std::vector<results::RecordedState>& recorded = setup.store->recorded();
  if (recorded.empty() || setup.store->previous_sweep_text() == setup.sweep.text) return;
  std::set<sweeps::TrialId> known;
  for (const results::RecordedState& state : recorded) known.insert(state.trial);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < setup.grid->size(); ++i) kept += known.contains(setup.grid->id(i)) ? 1 : 0;
  setup.progress.say(fmt::format(
      "the sweep file has changed since {} was recorded: {} trials kept, {} new, {} no longer asked (their rows stay)",
      setup.results_path, kept, setup.grid->size() - kept, known.size() - kept));
}

}  // namespace

std::string results_path(const sweeps::SweepSpec& sweep, const std::optional<std::string>& asked) {
  return asked.value_or(sweep.name + ".h5");
}

RunSetup::RunSetup(const RunOptions& run_options, const Clock& wall_clock)
    : options(run_options), clock(wall_clock), progress(wall_clock.now()) {
  sweep = sweeps::read_sweep_file(options.sweep_file, options.file);
  for (const std::string& only : options.only) sweep.only.push_back(sweeps::parse_only(only));
  results_path = cli::results_path(sweep, options.results);
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
  store.new_run = setup.options.rerun.has_value();
  store.publish_program = setup.options.program;
  setup.store = std::make_unique<results::ResultsStore>(store, setup.clock);
  for (const std::string& notice : setup.store->notices()) setup.progress.say(notice);
  if (!store.new_run && !setup.options.accept_changes && !setup.sweep.rehearsal) {
    refuse_changed_software(setup.results_path, setup.store->recorded_software(), setup.options.program);
  }
  setup.recorder = std::make_unique<SweepRecorder>(*setup.store, setup.clock, setup.progress);
}

void make_core(RunSetup& setup, const std::vector<std::string>& present_types, int agents) {
  setup.grid = std::make_unique<sweeps::Grid>(setup.sweep, present_types);
  tell_changes(setup);
  orchestrator::CoreOptions options;
  options.agents_expected = agents;
  options.max_trials = setup.options.max_trials.value_or(-1);
  options.file_id = setup.store->file_id();
  const bool simulated = setup.sweep.rehearsal && setup.sweep.rehearsal->simulated;
  if (!simulated) options.build_id = BATCHSWEEP_VERSION;  // simulated agents are of no build
  setup.core = std::make_unique<orchestrator::Core>(setup.sweep, *setup.grid, setup.store->recorded(), options);
}

ExitCode finish_run(RunSetup& setup, const Ending& ending) {
  setup.progress.finish();
  setup.store->close();
  results::remove_status(setup.results_path);
  const orchestrator::Progress progress = setup.core->progress();
  std::string summary = fmt::format("{}: {} of {} trials recorded", setup.results_path, progress.done, progress.total);
  if (progress.failures > 0) summary += fmt::format(", {} of them failed", progress.failures);
  if (progress.absent > 0) summary += fmt::format(", {} need a device that is not here", progress.absent);
  std::puts((summary + fmt::format(". Next: batchsweep report {}", setup.results_path)).c_str());
  if (ending.interrupted) return ExitCode::kInterrupted;
  if (setup.core->work_left()) return ExitCode::kWorkLeft;
  return progress.failures > 0 ? ExitCode::kFailedTrials : ExitCode::kDone;
}

}  // namespace batchsweep::cli
