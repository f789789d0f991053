// SPDX-License-Identifier: Apache-2.0
#include "cli/slurm_commands.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>

#include "base/error.hpp"
#include "base/units.hpp"
#include "cli/doctor/captured.hpp"

namespace batchsweep::cli {
namespace {

constexpr Duration kPatience = std::chrono::seconds(60);

std::string jobs_path(const std::string& results_path) { return results_path + ".slurm"; }

// What the program said, without its last line break; its exit code where it said nothing.
std::string words_of(const Captured& captured) {
  if (captured.timed_out)
    return fmt::format("no answer within {}", format_seconds(captured.seconds));
  std::string words = captured.output;
  while (!words.empty() && words.back() == '\n') words.pop_back();
  if (!words.empty()) return words;
  return captured.exit_code ? fmt::format("exit code {}", *captured.exit_code)
                            : "killed by a signal";
}

std::optional<double> from_environment() {
  const char* end = std::getenv("SLURM_JOB_END_TIME");  // newer Slurms: seconds since 1970
  if (end == nullptr || *end == '\0') return std::nullopt;
  char* stop = nullptr;
  const double end_s = std::strtod(end, &stop);
  if (*stop != '\0' || end_s <= 0) return std::nullopt;
  return end_s - to_seconds(std::chrono::system_clock::now().time_since_epoch());
}

}  // namespace

std::string submit_job(const Submission& submission) {
  std::vector<std::string> command{"sbatch", "--parsable"};
  if (submission.after) command.push_back("--dependency=afterany:" + *submission.after);
  command.push_back(submission.script);
  command.insert(command.end(), submission.arguments.begin(), submission.arguments.end());
  const Captured answer = capture(command, kPatience);
  if (!answer.started)
    throw IoError(fmt::format("sbatch is not here: submit {} on a login node of the cluster",
                              submission.script));
  const auto job = answer.succeeded() ? slurm::submitted_job(answer.output) : std::nullopt;
  if (!job)
    throw IoError(fmt::format("sbatch refused {}:\n{}", submission.script, words_of(answer)));
  return *job;
}

std::optional<std::vector<slurm::QueuedJob>> queue_of(const std::vector<std::string>& jobs) {
  if (jobs.empty()) return std::vector<slurm::QueuedJob>{};
  const Captured answer = capture({"squeue", "-h", "-o", std::string(slurm::kQueueFormat), "-j",
                                   fmt::format("{}", fmt::join(jobs, ","))},
                                  kPatience);
  if (answer.succeeded()) return slurm::queued_jobs(answer.output);
  // Of one job that Slurm has forgotten it says so; of several it leaves that one out.
  if (answer.output.find("Invalid job id") != std::string::npos)
    return std::vector<slurm::QueuedJob>{};
  return std::nullopt;
}

void cancel_jobs(const std::vector<std::string>& jobs) {
  if (jobs.empty()) return;
  std::vector<std::string> command{"scancel"};
  command.insert(command.end(), jobs.begin(), jobs.end());
  const Captured answer = capture(command, kPatience);
  if (!answer.succeeded())
    throw IoError(fmt::format("scancel {} failed: {}", fmt::join(jobs, " "),
                              answer.started ? words_of(answer) : "it is not here"));
}

std::optional<double> job_time_left_s() {
  const char* job = std::getenv("SLURM_JOB_ID");
  if (job == nullptr || *job == '\0') return std::nullopt;
  if (const auto left = from_environment()) return left;
  const Captured answer =
      capture({"squeue", "-h", "-o", "%L", "-j", job}, std::chrono::seconds(20));
  return answer.succeeded() ? slurm::time_left_s(answer.output) : std::nullopt;
}

std::vector<std::string> jobs_of_file(const std::string& results_path) {
  std::vector<std::string> jobs;
  std::ifstream file(jobs_path(results_path));
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line.find_first_not_of("0123456789") == std::string::npos)
      jobs.push_back(line);
  }
  return jobs;
}

void write_jobs_of_file(const std::string& results_path, const std::vector<std::string>& jobs) {
  std::ofstream file(jobs_path(results_path), std::ios::trunc);
  for (const std::string& job : jobs) file << job << '\n';
  file.flush();
  if (!file) throw IoError("cannot write " + jobs_path(results_path));
}

void forget_jobs_of_file(const std::string& results_path) {
  ::unlink(jobs_path(results_path).c_str());
}

}  // namespace batchsweep::cli
