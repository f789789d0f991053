// SPDX-License-Identifier: Apache-2.0
// The batch script of one [[slurm]] job: slurm/sweep.sbatch.in with its holes filled. Pure; knows
// no files and starts nothing.
#pragma once

#include <string>
#include <vector>

#include "sweeps/slurm_job.hpp"

namespace batchsweep::slurm {

struct BatchScript {
  std::string sweep_name;
  sweeps::SlurmJob job;
  std::string folder;   // full path: where the script runs, and file names start
  std::string program;  // full path of batchsweep
  std::string results;  // F.h5
  std::vector<std::string>
      sweep_arguments;                     // of plan and run: S.toml --job h100 --results F.h5 ...
  std::vector<std::string> run_arguments;  // of run alone, at every start: --accept-changes ...
  bool goes_on = true;  // false: the user set an end of its own (--until, --budget, --max-trials)
};

// Throws UsageError where a value cannot stand in a script (a line break).
[[nodiscard]] std::string render_batch_script(const BatchScript& script);

// "cards.h5", "h100" -> "cards.h100.h5": each job has a results file of its own.
[[nodiscard]] std::string results_of_job(const std::string& results, const std::string& job);
// "cards.h100.h5" -> "cards.h100.sbatch".
[[nodiscard]] std::string script_path(const std::string& results);

// A [[slurm]] block to copy, for who has none.
[[nodiscard]] std::string example_block();

}  // namespace batchsweep::slurm
