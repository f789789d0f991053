// SPDX-License-Identifier: Apache-2.0
// One picture of a sweep, as `batchsweep watch` shows it: from the status that a running sweep
// writes each second, the rows published so far and Slurm's queue. Pure: reads no files, asks
// nobody.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "results/report/report.hpp"
#include "results/store/lock_file.hpp"
#include "slurm/answers.hpp"

namespace batchsweep::cli {

struct Watched {
  std::string path;
  results::LockView lock;
  Json status;  // null: no sweep runs on the file, or it has told nothing yet
  std::optional<double> status_age_s;   // since the sweep wrote it
  std::vector<slurm::QueuedJob> jobs;   // Slurm jobs of the file that wait or run
  std::optional<results::Report> rows;  // absent: no F.h5 yet
  std::string rows_missing;             // why rows cannot be read, "" otherwise
};

// A status older than this is told as stale: a living sweep writes one each second.
inline constexpr double kStaleStatus_s = 10;

[[nodiscard]] std::string watch_picture(const Watched& watched);
// Nothing runs on the file and nothing waits in Slurm's queue: watching is over.
[[nodiscard]] bool has_ended(const Watched& watched);

}  // namespace batchsweep::cli
