// SPDX-License-Identifier: Apache-2.0
#include "slurm/batch_script.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/check.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "slurm/templates.hpp"

namespace batchsweep::slurm {
namespace {

using sweeps::SlurmJob;
using sweeps::SlurmLauncher;

std::string words(const std::vector<std::string>& texts) {
  std::vector<std::string> quoted;
  for (const std::string& text : texts) {
    // An option is meant as one, so its dash needs no quotes.
    const std::string word = fmt::format("x{}", text);
    quoted.push_back(shell_word(word) == word ? text : shell_word(text));
  }
  return fmt::format("{}", fmt::join(quoted, " "));
}

// Under mpirun the ranks of the first node are children of the script, and these are their devices.
constexpr const char* kForgetDevices =
    "unset CUDA_VISIBLE_DEVICES  # those of this node; srun tells each node its own";

// A value on an #SBATCH line: sbatch splits at blanks unless they stand in quotes.
std::string sbatch_value(const std::string& text) {
  if (text.find_first_of(" \t\"'\\#;") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text)
    quoted += c == '"' || c == '\\' ? fmt::format("\\{}", c) : std::string(1, c);
  return quoted + '"';
}

// In a file name "%" begins one of sbatch's patterns.
std::string sbatch_file(const std::string& path) {
  std::string text;
  for (const char c : path) text += c == '%' ? std::string("%%") : std::string(1, c);
  return sbatch_value(text);
}

// squeue shows it, and people type it.
std::string job_name(const BatchScript& script) {
  std::string name = script.sweep_name + "." + script.job.job;
  for (char& c : name) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                       c == '.' || c == '-' || c == '_';
    if (!plain) c = '_';
  }
  return name;
}

std::string sbatch_lines(const SlurmJob& job) {
  std::vector<std::string> lines;
  const auto add = [&](const char* option, const std::string& value) {
    if (!value.empty())
      lines.push_back(fmt::format("#SBATCH --{}={}", option, sbatch_value(value)));
  };
  add("partition", job.partition);
  add("account", job.account);
  add("qos", job.qos);
  add("time", job.time);
  add("gres", job.gres);
  for (const std::string& line : job.sbatch_args) lines.push_back("#SBATCH " + line);
  return fmt::format("{}", fmt::join(lines, "\n"));
}

// A second line: a run knows its end by itself where Slurm tells it. Slurm may send the signal more
// than a minute early, which would be half of a short job.
std::string signal_line(const SlurmJob& job) {
  constexpr double lead_s = 120, shortest_s = 600;
  if (sweeps::parse_slurm_time(job.time).value_or(shortest_s) < shortest_s) return "";
  return fmt::format("#SBATCH --signal=B:USR1@{}", lead_s);
}

// One rank a node; the agent there shares out the node's cores itself.
std::string launch(const SlurmJob& job) {
  if (job.launch == SlurmLauncher::kMpirun) return "mpirun --map-by ppr:1:node --bind-to none";
  return fmt::format(
      "srun --no-kill --mpi={} --ntasks-per-node=1 --cpu-bind=none "
      "${{SLURM_CPUS_PER_TASK:+--cpus-per-task=$SLURM_CPUS_PER_TASK}}{}{}",
      shell_word(job.mpi), job.srun_args.empty() ? "" : " ", words(job.srun_args));
}

std::string go_on(const BatchScript& script) {
  if (!script.goes_on)
    return "# The sweep was given an end of its own, so this job does not start again.";
  if (script.job.chain) return "# The next job of the chain goes on.";
  return std::string(kRequeue.substr(0, kRequeue.find_last_not_of('\n') + 1));
}

void refuse_line_breaks(const BatchScript& script) {
  for (const std::string* text :
       {&script.sweep_name, &script.folder, &script.program, &script.results}) {
    if (text->find_first_of("\n\r") != std::string::npos)
      throw UsageError(fmt::format(
          "\"{}\": a name with a line break cannot stand in a batch script", printable(*text)));
  }
}

// Lines whose hole is filled with nothing go away.
std::string fill(std::string_view text, const std::map<std::string, std::string>& holes) {
  std::string filled;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    at = end + 1;
    std::string made;
    bool only_a_hole = false;
    for (std::size_t from = 0;;) {
      const std::size_t open = line.find("{{", from);
      made += line.substr(from, open - from);
      if (open == std::string_view::npos) break;
      const std::size_t close = line.find("}}", open);
      const auto hole = holes.find(std::string(line.substr(open + 2, close - open - 2)));
      BATCHSWEEP_ASSERT(hole != holes.end());
      made += hole->second;
      only_a_hole = open == 0 && close + 2 == line.size();
      from = close + 2;
    }
    if (!only_a_hole || !made.empty()) filled += made + '\n';
  }
  return filled;
}

}  // namespace

std::string render_batch_script(const BatchScript& script) {
  refuse_line_breaks(script);
  const SlurmJob& job = script.job;
  const std::string log = script.results.substr(0, script.results.rfind(".h5")) + ".log";
  const bool requeues = !job.chain;
  return fill(kBatchScript, {{"JOB", job.job},
                             {"SWEEP", script.sweep_name},
                             {"JOB_NAME", job_name(script)},
                             {"NODES", std::to_string(job.nodes)},
                             {"SBATCH_LINES", sbatch_lines(job)},
                             {"FOLDER", sbatch_value(script.folder)},
                             {"LOG", sbatch_file(log)},
                             {"REQUEUE", requeues ? "--requeue" : "--no-requeue"},
                             {"SIGNAL", signal_line(job)},
                             {"PROGRAM", shell_word(script.program)},
                             {"RESULTS", shell_word(script.results)},
                             {"SWEEP_ARGUMENTS", words(script.sweep_arguments)},
                             {"RUN_ARGUMENTS", words(script.run_arguments) +
                                                   (script.run_arguments.empty() ? "" : " ")},
                             {"WRAP", words(job.wrap)},
                             {"DEVICES", job.launch == SlurmLauncher::kSrun ? kForgetDevices : ""},
               {"SETUP", fmt::format("{}", fmt::join(job.setup, "\n"))},
                             {"LAUNCH", launch(job)},
                             {"GO_ON", go_on(script)}});
}

std::string results_of_job(const std::string& results, const std::string& job) {
  const bool usual = results.size() > 3 && results.ends_with(".h5");
  const std::string stem = usual ? results.substr(0, results.size() - 3) : results;
  return fmt::format("{}.{}.h5", stem, job);
}

std::string script_path(const std::string& results) {
  return results.substr(0, results.rfind(".h5")) + ".sbatch";
}

std::string example_block() {
  return R"([[slurm]]
job = "main"             # names the Slurm job and its results file
nodes = 1
gres = "gpu:1"           # of each node, as Slurm's --gres; without GPUs leave it out
time = "12:00:00"
# partition = "..."      # "sinfo" lists them
# account = "..."
# setup = ["module load openmpi"]
# only = { gpu = "H100*" }  # its part of the grid; several [[slurm]] run side by side
)";
}

}  // namespace batchsweep::slurm
