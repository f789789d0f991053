// SPDX-License-Identifier: Apache-2.0
// What stands between "run was typed" and "the core runs", the same for real and simulated sweeps: the sweep file, the results file, the
// grid, the core; and the end: publish, summary, exit code.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "cli/present.hpp"
#include "cli/progress_line.hpp"
#include "cli/run_options.hpp"
#include "cli/sweep_recorder.hpp"
#include "cli/time_limits.hpp"
#include "orchestrator/core.hpp"
#include "results/store/results_store.hpp"
#include "sweeps/grid.hpp"

namespace batchsweep::cli {

struct RunSetup {
  RunSetup(const RunOptions& run_options, const Clock& wall_clock);
  ~RunSetup();  // takes the status file away
  RunSetup(const RunSetup&) = delete;  // the grid points into the sweep
  RunSetup& operator=(const RunSetup&) = delete;

  const RunOptions& options;
  const Clock& clock;
  ProgressLine progress;
  sweeps::SweepSpec sweep;
  std::string results_path;
  std::optional<TimeLimit> time_limit;  // --until, --budget
  std::optional<Instant> end_of_job;    // of Slurm: what runs is stopped by then
  std::unique_ptr<results::ResultsStore> store;
  std::unique_ptr<SweepRecorder> recorder;
  std::unique_ptr<sweeps::Grid> grid;
  std::vector<results::RecordedState> recorded;  // what counts of the file, as found
  std::unique_ptr<orchestrator::Core> core;
};

// <name>.h5 (<name>.<job>.h5) in the current folder unless the user named another.
[[nodiscard]] std::string results_path(const sweeps::SweepSpec& sweep, const std::optional<std::string>& asked,
                                       const std::optional<std::string>& job);

// Of the sweep file as this process sees it; "" where it sees none.
[[nodiscard]] std::string sweep_hash(const std::string& path);
// The program of ours that trials of this sweep need; "": none.
[[nodiscard]] std::string needed_program(const sweeps::SweepSpec& sweep);
// What can be refused before a file is touched: the program is missing here (IoError), the grid is empty.
void check_setup(RunSetup& setup);
// Takes the lock; tells what opening noticed. Refuses other software than the recorded one unless the options allow it.
void open_results(RunSetup& setup);
// The sweep begins: grid and core, F.h5 be it without rows, and what has changed since the recorded sweep (kept, new, no longer asked, asked again).
void make_core(RunSetup& setup, const Present& present, int agents);

struct Ending {
  bool interrupted = false;  // SIGINT
};
// Publishes, prints the summary on standard output, gives the exit code: 130, 4, 3, 0, the first that applies.
[[nodiscard]] ExitCode finish_run(RunSetup& setup, const Ending& ending);

}  // namespace batchsweep::cli
