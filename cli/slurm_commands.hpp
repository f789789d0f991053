// SPDX-License-Identifier: Apache-2.0
// Asks Slurm: sbatch, squeue, scancel. Their words are shown to the user where they refuse.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "slurm/answers.hpp"

namespace batchsweep::cli {

struct Submission {
  std::string script;                  // file
  std::optional<std::string> after;    // a job whose end it waits for
  std::vector<std::string> arguments;  // of the script
};
// The job's id. Throws IoError: sbatch is not here, or refuses (with its words).
[[nodiscard]] std::string submit_job(const Submission& submission);

// Those of the jobs that wait or run; nullopt where squeue cannot be asked.
[[nodiscard]] std::optional<std::vector<slurm::QueuedJob>> queue_of(
    const std::vector<std::string>& jobs);
// Throws IoError with scancel's words.
void cancel_jobs(const std::vector<std::string>& jobs);

// How long the Slurm job that this process is part of may still run. nullopt: in none, no limit, or
// Slurm does not say.
[[nodiscard]] std::optional<double> job_time_left_s();

// F.h5.slurm: the ids of the Slurm jobs that shall work on F.h5, one a line. Written by submit and
// the batch script; where it is gone, the script asks for no further start.
[[nodiscard]] std::vector<std::string> jobs_of_file(const std::string& results_path);
void write_jobs_of_file(const std::string& results_path, const std::vector<std::string>& jobs);
void forget_jobs_of_file(const std::string& results_path);

}  // namespace batchsweep::cli
