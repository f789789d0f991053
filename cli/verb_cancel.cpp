// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstdio>

#include "cli/slurm_commands.hpp"
#include "cli/verbs.hpp"
#include "results/store/cancel_file.hpp"
#include "results/store/lock_file.hpp"

namespace batchsweep::cli {
namespace {

using results::LockState;

// Those that wait never start; nothing is asked of those that run. Where the queue cannot be asked,
// only what runs can be ended here.
std::vector<std::string> jobs_to_cancel(const std::vector<slurm::QueuedJob>& queue,
                                        bool sweep_runs) {
  std::vector<std::string> jobs;
  for (const slurm::QueuedJob& job : queue) {
    // A job that runs but has no sweep yet has nothing to save.
    if (job.waits() || !sweep_runs) jobs.push_back(job.id);
  }
  return jobs;
}

ExitCode cancel(const std::string& path) {
  const std::vector<std::string> submitted = jobs_of_file(path);
  const auto queue = queue_of(submitted);
  const results::LockView lock = results::watch_lock(path);
  const bool runs = lock.state == LockState::kHeld || lock.state == LockState::kUnsure;
  const auto jobs = jobs_to_cancel(queue.value_or(std::vector<slurm::QueuedJob>{}), runs);
  if (!submitted.empty() && !queue && !runs)
    throw IoError(
        fmt::format("{}: Slurm's queue cannot be asked from here (squeue): end job {} with scancel",
                    path, fmt::join(submitted, ", ")));
  if (!runs && jobs.empty()) {
    throw UsageError(
        lock.state == LockState::kDead
            ? fmt::format(
                  "{}: no sweep is running on this file: the one that held it ({}) is gone; "
                  "batchsweep run goes on with it",
                  path, results::name_of(lock.holder))
            : fmt::format("{}: no sweep is running on this file (there is no {}.lock)", path,
                          path));
  }
  forget_jobs_of_file(
      path);  // first: a batch script that finds its job there no more does not go on
  cancel_jobs(jobs);
  if (!jobs.empty())
    fmt::print("{}: Slurm job {} taken out of the queue.\n", path, fmt::join(jobs, ", "));
  if (runs) {
    results::write_cancel_request(path);
    fmt::print(
        "{}: asked to end; running trials finish and are recorded. Go on later with batchsweep "
        "{}.\n",
        path, submitted.empty() ? "run" : "submit");
  }
  return ExitCode::kDone;
}

}  // namespace

void add_cancel(CommandLine& line) {
  const auto path = std::make_shared<std::string>();
  line.add("cancel",
           "end a sweep well: running trials finish, nothing new starts, its Slurm jobs leave the "
           "queue")
      .positional("RESULTS", *path, "the results file of the sweep (F.h5)")
      .example("batchsweep cancel cards.h5")
      .run([path] { return cancel(*path); });
}

}  // namespace batchsweep::cli
