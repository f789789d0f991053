// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstdio>

#include "base/log.hpp"
#include "cli/answer.hpp"
#include "cli/plan.hpp"
#include "cli/run_setup.hpp"
#include "cli/verbs.hpp"
#include "orchestrator/simulate/simulated_devices.hpp"
#include "sweeps/sweep_file.hpp"
#include "worker/agent/device_inventory.hpp"

namespace batchsweep::cli {
namespace {

struct PlanOptions {
  std::string sweep, format;
  sweeps::SweepFileOptions file;
  std::vector<std::string> only;
  std::optional<std::string> results, job;
  bool all = false, remaining = false, recorded = false;
};

constexpr std::size_t kShownTrials = 20;

// The devices of this machine (or of the played cluster).
Present present_here(const sweeps::SweepSpec& sweep) {
  if (sweep.rehearsal && sweep.rehearsal->simulated)
    return present_of(orchestrator::simulated_nodes(sweep));
  const agent::FoundHost host = agent::take_stock(0, own_program());
  for (const std::string& notice : host.notices) log_info("{}", notice);
  protocol::Register registration;
  registration.host.hostname = host.name;
  registration.devices = agent::offered_devices(host, sweep.devices, sweep.rehearsal.has_value());
  return present_of({registration});
}

void print_text(const Plan& plan, const PlanOptions& options) {
  fmt::print("{}\n", summary(plan));
  const Table table =
      trials_table(plan, options.all || options.format == "csv" ? plan.grid->size() : kShownTrials);
  print_answer(options.format, table, [] { return Json(); });
  if (table.rows.size() < plan.grid->size())
    fmt::print("... and {} more (--all)\n", plan.grid->size() - table.rows.size());
}

ExitCode plan(const PlanOptions& options) {
  sweeps::SweepSpec sweep = sweeps::read_sweep_file(options.sweep, options.file);
  if (options.job) sweeps::choose_job(sweep, *options.job);
  for (const std::string& only : options.only) sweep.only.push_back(sweeps::parse_only(only));
  const std::string results = results_path(sweep, options.results, options.job);
  const sweeps::Origin origin =
      sweep.rehearsal ? sweeps::Origin::kRehearsed : sweeps::Origin::kMeasured;
  const RecordedSweep recorded = read_recorded(results, origin);
  if (options.job && (options.remaining || options.recorded)) {
    const JobProgress progress = progress_of_job(sweep, recorded);
    fmt::print("{}\n", options.remaining ? progress.remaining : progress.settled);
    return ExitCode::kDone;
  }
  const Present present = present_here(sweep);
  const sweeps::Grid grid(sweep, present.types, present.targets);
  const Plan made = make_plan(sweep, grid, present, recorded);
  if (options.remaining) {
    fmt::print("{}\n", made.remaining);
  } else if (options.recorded) {
    fmt::print("{}\n", made.recorded);
  } else if (options.format == "json") {
    print_answer("json", {}, [&] { return plan_json(made); });
  } else if (options.format == "csv") {
    print_answer("csv", trials_table(made, grid.size()), [] { return Json(); });
  } else {
    print_text(made, options);
  }
  return ExitCode::kDone;
}

}  // namespace

void add_plan(CommandLine& line) {
  const auto options = std::make_shared<PlanOptions>();
  line.add("plan",
           "list the trials of a sweep, those recorded already, the expected time; starts nothing")
      .positional("SWEEP", options->sweep, "the sweep file")
      .option("--set", options->file.set,
              "a key of the sweep file, as in --set trial.timed_steps=50")
      .option("--only", options->only,
              "trials to look at, as in --only model=bert*,batch_size=8..64")
      .option("--site", options->file.site, "the site file")
      .option("--results", options->results, "the results file (NAME.h5 in this folder)")
      .choice("--format", options->format, format_words(), "how the answer is written")
      .flag("--all", options->all, "list every trial")
      .flag("--remaining", options->remaining,
            "print only how many (trial, repeat) are left to run here; with --job, for that job, "
            "wherever it runs")
      .flag("--recorded", options->recorded, "print only how many are recorded")
      .option("--job", options->job, "only the part of this [[slurm]] job")
      .example("batchsweep plan sweeps/examples/quickstart.toml --only model=resnet18")
      .run([options] { return plan(*options); });
}

}  // namespace batchsweep::cli
