// SPDX-License-Identifier: Apache-2.0
#include "cli/run_sweep.hpp"
#include "cli/verbs.hpp"

namespace batchsweep::cli {

void add_run(CommandLine& line) {
  const auto options = std::make_shared<RunOptions>();
  line.add("run", "run what is not recorded yet: alone, under mpirun, or under srun")
      .positional("SWEEP", options->sweep_file, "the sweep file (TOML)")
      .option("--results", options->results, "the results file (default: <name>.h5 in the current folder)")
      .option("--job", options->job, "only the part of this [[slurm]] job; the results file is <name>.<job>.h5")
      .option("--site", options->file.site, "the site file")
      .option("--set", options->file.set, "override a key: trial.timed_steps=50 (may be repeated)")
      .option("--only", options->only, "only these trials: model=bert*,gpu=H100* (may be repeated)")
      .option("--rerun", options->rerun, "measure again in a new run: all, failed, or what a filter as of --only matches")
      .flag("--accept-changes", options->accept_changes, "go on although LibTorch or the driver changed")
      .option("--max-trials", options->max_trials, "start at most so many trials")
      .option("--until", options->until, "start nothing new from this local time on: 18:00")
      .option("--budget", options->budget, "start nothing new after this long: \"30 min\"")
      .flag("--no-quarantine", options->no_quarantine, "go on using devices on which several different trials crashed")
      .flag("--quarantine", options->quarantine, "take such devices out of service in a rehearsal, too")
      .flag("--alone", options->alone, "run in this one process although Slurm started more")
      .example("mpirun -n 4 --bind-to none batchsweep run cards.toml --results cards.h5")
      .run([options] {
        options->program = own_program();
        if (options->max_trials && *options->max_trials < 0) throw UsageError("--max-trials: expected a number from 0 up");
        if (options->quarantine && options->no_quarantine) throw UsageError("--quarantine and --no-quarantine: only one of them");
        return run_sweep(*options);
      });
}

}  // namespace batchsweep::cli
