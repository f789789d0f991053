// SPDX-License-Identifier: Apache-2.0
// One [[slurm]] block as the sweep file says it: what to ask of Slurm for a part of the grid. Knows
// nothing of batch scripts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/enum_names.hpp"
#include "sweeps/axis.hpp"

namespace batchsweep::sweeps {

enum class SlurmLauncher { kSrun, kMpirun };
constexpr auto enum_names(SlurmLauncher) {
  return std::to_array<EnumName<SlurmLauncher>>(
      {{SlurmLauncher::kSrun, "srun"}, {SlurmLauncher::kMpirun, "mpirun"}});
}

struct SlurmJob {
  std::string job;                            // names the Slurm job and its results file
  std::vector<AxisMatch> only;                // its part of the grid; empty: all
  std::string partition, account, qos, gres;  // "": Slurm's default
  std::string time;                           // in Slurm's form; "": the partition's default
  std::int64_t nodes = 1;
  std::string mpi = "pmix";
  SlurmLauncher launch = SlurmLauncher::kSrun;
  std::vector<std::string> setup;        // shell lines before the launch
  std::vector<std::string> sbatch_args;  // each a line of its own
  std::vector<std::string> srun_args, wrap;
  std::optional<std::int64_t> chain;  // so many jobs, one behind the other; absent: requeue
  bool operator==(const SlurmJob&) const = default;
};

// Slurm's "minutes", "minutes:seconds", "hours:minutes:seconds", "days-hours",
// "days-hours:minutes", "days-hours:minutes:seconds" -> seconds. nullopt: not such a text
// ("UNLIMITED" neither).
[[nodiscard]] std::optional<double> parse_slurm_time(std::string_view text);
// 43200 -> "12:00:00", 90000 -> "1-01:00:00"; rounded up to whole seconds.
[[nodiscard]] std::string format_slurm_time(double s);

}  // namespace batchsweep::sweeps
