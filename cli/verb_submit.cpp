// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "base/log.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "cli/slurm_commands.hpp"
#include "cli/verbs.hpp"
#include "results/store/rerun.hpp"
#include "slurm/answers.hpp"
#include "slurm/batch_script.hpp"
#include "sweeps/gpu_catalogue.hpp"
#include "sweeps/grid.hpp"
#include "sweeps/sweep_file.hpp"

namespace batchsweep::cli {
namespace {

namespace fs = std::filesystem;

struct SubmitOptions {
  std::string sweep_file;
  sweeps::SweepFileOptions file;
  std::optional<std::string> results, job, rerun, until, budget;
  std::optional<std::int64_t> max_trials;
  std::vector<std::string> only;
  bool accept_changes = false, no_quarantine = false, dry_run = false;
};

void check(const SubmitOptions& options, const sweeps::SweepSpec& sweep) {
  if (sweep.slurm.empty())
    throw UsageError(
        fmt::format("{}: no [[slurm]]: it says what to ask of Slurm. Copy this into the sweep "
                    "file, or into the "
                    "site file, and change it:\n\n{}",
                    options.sweep_file, slurm::example_block()));
  if (sweep.rehearsal && sweep.rehearsal->simulated)
    throw UsageError(
        fmt::format("{}: a rehearsal with mode = \"simulated\" needs no cluster: batchsweep run {}",
                    options.sweep_file, shell_word(options.sweep_file)));
  if (options.rerun) (void)results::parse_rerun(*options.rerun);
  for (const sweeps::SlurmJob& job : sweep.slurm) {
    const auto limit_s = sweeps::parse_slurm_time(job.time);
    if (!limit_s || *limit_s - slurm::margin_s(*limit_s) > sweep.limits.time_s) continue;
    throw UsageError(
        fmt::format("job {}: its time ({}) leaves no room for a trial of the longest kind "
                    "(trial.time_limit = {}), so "
                    "nothing would start: raise slurm.time or lower trial.time_limit",
                    job.job, job.time, format_seconds(sweep.limits.time_s)));
  }
}

// Which of the jobs have a part of the grid; says what is in no job's part, and in several.
// Without knowing the cluster's types, gpu = "all" is everybody's.
std::vector<sweeps::SlurmJob> jobs_with_work(const sweeps::SweepSpec& sweep) {
  if (sweeps::asks_for_present_types(sweep)) return sweep.slurm;
  std::vector<std::int64_t> trials(sweep.slurm.size(), 0);
  std::int64_t in_none = 0, in_several = 0;
  const sweeps::Grid grid(sweep, {});
  grid.for_each([&](std::size_t, const sweeps::TrialSpec& spec) {
    int parts = 0;
    for (std::size_t j = 0; j < sweep.slurm.size(); ++j) {
      if (!sweeps::matches(spec, sweep.slurm[j].only)) continue;
      ++parts;
      ++trials[j];
    }
    in_none += parts == 0;
    in_several += parts > 1;
  });
  if (in_none > 0)
    log_warn("{} of {} trials are in no job's part (slurm.only)", in_none, grid.size());
  if (in_several > 0)
    log_warn("{} of {} trials are in the parts of several jobs (slurm.only): each runs them",
             in_several, grid.size());
  std::vector<sweeps::SlurmJob> jobs;
  for (std::size_t j = 0; j < sweep.slurm.size(); ++j) {
    if (trials[j] > 0) {
      jobs.push_back(sweep.slurm[j]);
    } else {
      log_warn("job {}: no trial is in its part: not submitted", sweep.slurm[j].job);
    }
  }
  return jobs;
}

// Such a trial would wait for ever, or be skipped by every start.
void refuse_too_many_ranks(const sweeps::SweepSpec& sweep, const sweeps::SlurmJob& job) {
  const auto gpus_per_node = slurm::gpus_in_gres(job.gres);
  if (!gpus_per_node || sweeps::asks_for_present_types(sweep)) return;
  const std::int64_t gpus = *gpus_per_node * job.nodes;
  std::int64_t too_large = 0, most = 0;
  sweeps::Grid(sweep, {}).for_each([&](std::size_t, const sweeps::TrialSpec& spec) {
    const bool card = sweeps::find_gpu(spec.gpu) != nullptr;
    if (!card || spec.world_size <= gpus || !sweeps::matches(spec, job.only)) return;
    ++too_large;
    most = std::max(most, spec.world_size);
  });
  if (too_large == 0) return;
  throw UsageError(
      fmt::format("job {}: {} of its trials need up to {} GPUs, but it has {} (nodes = {}, gres = "
                  "\"{}\"): raise them, or leave those trials out (slurm.only, --only)",
                  job.job, too_large, most, gpus, job.nodes, job.gres));
}

slurm::BatchScript script_of(const SubmitOptions& options, const sweeps::SweepSpec& sweep,
                             const sweeps::SlurmJob& job) {
  slurm::BatchScript script;
  script.sweep_name = sweep.name;
  script.job = job;
  script.folder = fs::current_path().string();
  script.program = own_program();
  script.results = slurm::results_of_job(options.results.value_or(sweep.name + ".h5"), job.job);
  script.sweep_arguments = {options.sweep_file, "--job", job.job, "--results", script.results};
  const auto add = [](std::vector<std::string>& arguments, const char* option,
                      const std::string& value) {
    arguments.emplace_back(option);
    arguments.push_back(value);
  };
  if (options.file.site) add(script.sweep_arguments, "--site", *options.file.site);
  for (const std::string& set : options.file.set) add(script.sweep_arguments, "--set", set);
  for (const std::string& only : options.only) add(script.sweep_arguments, "--only", only);
  if (options.accept_changes) script.run_arguments.emplace_back("--accept-changes");
  if (options.no_quarantine) script.run_arguments.emplace_back("--no-quarantine");
  if (options.max_trials)
    add(script.run_arguments, "--max-trials", std::to_string(*options.max_trials));
  if (options.until) add(script.run_arguments, "--until", *options.until);
  if (options.budget) add(script.run_arguments, "--budget", *options.budget);
  script.goes_on = !options.max_trials && !options.until && !options.budget;
  return script;
}

void write_script(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::trunc | std::ios::binary);
  file << text;
  file.flush();
  if (!file) throw IoError("cannot write " + path);
}

// Two jobs on one file would only lock each other out.
void refuse_queued_twice(const std::string& results) {
  const auto queued = queue_of(jobs_of_file(results));
  if (!queued || queued->empty()) return;
  const slurm::QueuedJob& job = queued->front();
  throw UsageError(fmt::format(
      "{}: Slurm job {} ({}) works on this file already: batchsweep watch {}, or end it with "
      "batchsweep cancel {}",
      results, job.id, job.state, shell_word(results), shell_word(results)));
}

void submit_script(const SubmitOptions& options, const slurm::BatchScript& script) {
  refuse_queued_twice(script.results);
  const std::string path = slurm::script_path(script.results);
  write_script(path, slurm::render_batch_script(script));
  std::vector<std::string> jobs;
  for (std::int64_t i = 0; i < script.job.chain.value_or(1); ++i) {
    Submission submission{.script = path, .after = {}, .arguments = {}};
    if (!jobs.empty()) submission.after = jobs.back();
    if (jobs.empty() && options.rerun) submission.arguments = {"--rerun", *options.rerun};
    jobs.push_back(submit_job(submission));
    write_jobs_of_file(script.results, jobs);
  }
  fmt::print("{}: job {}, results in {}. Next: batchsweep watch {}\n", script.job.job,
             fmt::join(jobs, ", "), script.results, shell_word(script.results));
  (void)std::fflush(stdout);  // told, also when sbatch refuses the next one
}

ExitCode submit(const SubmitOptions& options) {
  sweeps::SweepSpec sweep = sweeps::read_sweep_file(options.sweep_file, options.file);
  check(options, sweep);
  if (options.job) {
    sweeps::choose_job(sweep, *options.job);
    std::erase_if(sweep.slurm,
                  [&](const sweeps::SlurmJob& job) { return job.job != *options.job; });
  }
  for (const std::string& only : options.only) sweep.only.push_back(sweeps::parse_only(only));
  const std::vector<sweeps::SlurmJob> jobs = jobs_with_work(sweep);
  if (jobs.empty())
    throw UsageError(options.sweep_file + ": no job has a part of the grid (slurm.only)");
  for (const sweeps::SlurmJob& job : jobs) refuse_too_many_ranks(sweep, job);
  bool first = true;
  for (const sweeps::SlurmJob& job : jobs) {
    const slurm::BatchScript script = script_of(options, sweep, job);
    if (!options.dry_run) {
      submit_script(options, script);
      continue;
    }
    fmt::print("{}{}", first ? "" : "\n", slurm::render_batch_script(script));
    first = false;
  }
  return ExitCode::kDone;
}

}  // namespace

void add_submit(CommandLine& line) {
  const auto options = std::make_shared<SubmitOptions>();
  line.add("submit",
           "write and submit a Slurm job for each [[slurm]] of the sweep; print the job ids")
      .positional("SWEEP", options->sweep_file, "the sweep file (TOML)")
      .flag("--dry-run", options->dry_run, "print the batch scripts; submit nothing")
      .option("--job", options->job, "only this [[slurm]] job")
      .option("--results", options->results,
              "job J works on F.J.h5 (default of F.h5: <name>.h5 in the current folder)")
      .option("--site", options->file.site, "the site file")
      .option("--set", options->file.set, "override a key: trial.timed_steps=50 (may be repeated)")
      .option("--only", options->only, "only these trials: model=bert*,gpu=H100* (may be repeated)")
      .option("--rerun", options->rerun,
              "measure again in a new run: all, failed, or what a filter as of --only matches")
      .flag("--accept-changes", options->accept_changes,
            "go on although LibTorch or the driver changed")
      .flag("--no-quarantine", options->no_quarantine,
            "go on using devices on which several different trials crashed")
      .option("--max-trials", options->max_trials,
              "start at most so many trials, then do not go on")
      .option("--until", options->until, "start nothing new from this local time on: 18:00")
      .option("--budget", options->budget, "start nothing new after this long: \"30 min\"")
      .example("batchsweep submit cards.toml --dry-run")
      .run([options] { return submit(*options); });
}

}  // namespace batchsweep::cli
