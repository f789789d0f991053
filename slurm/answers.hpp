// SPDX-License-Identifier: Apache-2.0
// What Slurm's commands and options say, read. Pure: who asks them is cli/slurm_commands.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace batchsweep::slurm {

// sbatch --parsable: "123" or "123;cluster", perhaps behind warnings. nullopt: no job id in it.
[[nodiscard]] std::optional<std::string> submitted_job(std::string_view sbatch_output);

// Lines of squeue -h -o "%i|%T|%r": job, state, why it waits.
struct QueuedJob {
  std::string id, state, reason;
  [[nodiscard]] bool waits() const { return state == "PENDING" || state == "REQUEUED"; }
  bool operator==(const QueuedJob&) const = default;
};
inline constexpr std::string_view kQueueFormat = "%i|%T|%r";
[[nodiscard]] std::vector<QueuedJob> queued_jobs(std::string_view squeue_output);

// --gres: "gpu:h100:4" -> 4, "gpu:2,shard:8" -> 2, "gpu" -> 1: GPUs of each node. nullopt: it asks for
// none (perhaps they are asked for in another way).
[[nodiscard]] std::optional<std::int64_t> gpus_in_gres(std::string_view gres);

// squeue -h -o %L: how long a job may still run, in seconds. nullopt: no limit, or not known.
[[nodiscard]] std::optional<double> time_left_s(std::string_view squeue_output);

// A run ends so long before its job does: what runs is stopped, all is saved, and the script may
// still ask for the next start.
[[nodiscard]] double margin_s(double time_left_s);

}  // namespace batchsweep::slurm
