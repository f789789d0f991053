// SPDX-License-Identifier: Apache-2.0
#include "slurm/answers.hpp"

#include <algorithm>
#include <string>

#include "sweeps/slurm_job.hpp"

namespace batchsweep::slurm {
namespace {

// Cuts off and returns the text before the next `separator`.
std::string_view next_piece(std::string_view& rest, char separator) {
  const std::size_t end = std::min(rest.find(separator), rest.size());
  const std::string_view piece = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return piece;
}

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = std::min(text.find_first_not_of(" \t\r\n"), text.size());
  text.remove_prefix(begin);
  return text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
}

}  // namespace

std::optional<std::string> submitted_job(std::string_view sbatch_output) {
  std::optional<std::string> job;
  while (!sbatch_output.empty()) {
    std::string_view line = trimmed(next_piece(sbatch_output, '\n'));
    const std::string_view id = next_piece(line, ';');
    if (is_number(id)) job = std::string(id);
  }
  return job;
}

std::vector<QueuedJob> queued_jobs(std::string_view squeue_output) {
  std::vector<QueuedJob> jobs;
  while (!squeue_output.empty()) {
    std::string_view line = trimmed(next_piece(squeue_output, '\n'));
    const std::string_view id = next_piece(line, '|'), state = next_piece(line, '|');
    if (is_number(id) && !state.empty())
      jobs.push_back({std::string(id), std::string(state), std::string(line)});
  }
  return jobs;
}

std::optional<std::int64_t> gpus_in_gres(std::string_view gres) {
  std::optional<std::int64_t> gpus;
  while (!gres.empty()) {
    std::string_view item = next_piece(gres, ',');
    item = next_piece(item, '(');  // "gpu:h100:4(S:0-1)"
    std::string_view word = next_piece(item, ':');
    if (word == "gres") word = next_piece(item, ':');
    if (word != "gpu") continue;
    while (!item.empty()) word = next_piece(item, ':');
    gpus = gpus.value_or(0) + (is_number(word) ? std::stoll(std::string(word)) : 1);
  }
  return gpus;
}

std::optional<double> time_left_s(std::string_view squeue_output) {
  return sweeps::parse_slurm_time(trimmed(squeue_output));
}

double margin_s(double time_left_s) { return std::clamp(time_left_s / 10, 5.0, 60.0); }

}  // namespace batchsweep::slurm
