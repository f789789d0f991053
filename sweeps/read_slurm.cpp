// SPDX-License-Identifier: Apache-2.0
// [[slurm]]: one Slurm job each.
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <set>

#include "base/units.hpp"
#include "sweeps/read_sections.hpp"
#include "sweeps/slurm_job.hpp"

namespace batchsweep::sweeps {
namespace {

constexpr auto kLaunchers = std::to_array<std::string_view>({"srun", "mpirun"});
constexpr std::int64_t kLongestChain = 100;

std::vector<std::string> read_texts(TableReader& table, const char* name) {
  const TomlNode* node = table.node().find(name);
  if (node == nullptr || node->kind == TomlNode::Kind::kArray) return table.names(name);
  table.findings().add(node->place, table.key(name),
                       fmt::format("expected a list of texts, found {}", describe(*node)));
  (void)table.find(name);
  return {};
}

void read_time(TableReader& table, SlurmJob& job) {
  const auto time = table.name("time");
  if (!time) return;
  if (const auto s = parse_seconds(*time)) {
    job.time = format_slurm_time(*s);
  } else if (*time == "UNLIMITED" || parse_slurm_time(*time)) {
    job.time = *time;
  } else {
    table.findings().add(
        table.node().find("time")->place, table.key("time"),
        fmt::format("expected Slurm's \"HH:MM:SS\" or \"12 h\", found \"{}\"", *time));
  }
}

void read_end(TableReader& table, SlurmJob& job) {
  const auto end = table.name("when_time_is_up");
  if (!end || *end == "requeue") return;
  const std::string_view prefix = "chain:";
  std::int64_t jobs = 0;
  if (end->starts_with(prefix)) {
    const char* last = end->data() + end->size();
    const auto [stop, error] = std::from_chars(end->data() + prefix.size(), last, jobs);
    if (error != std::errc{} || stop != last) jobs = 0;
  }
  if (jobs >= 1 && jobs <= kLongestChain) {
    job.chain = jobs;
  } else {
    table.findings().add(table.node().find("when_time_is_up")->place, table.key("when_time_is_up"),
                         fmt::format("expected \"requeue\" or \"chain:5\" (1 to {}), found \"{}\"",
                                     kLongestChain, *end));
  }
}

// It is part of file names, of Slurm's job name and of a shell script.
void read_job_name(TableReader& table, SlurmJob& job) {
  if (table.node().find("job") == nullptr)
    table.missing("job", "it names the job and its results file");
  job.job = table.name("job").value_or("");
  constexpr std::string_view allowed =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
  if (job.job.find_first_not_of(allowed) != std::string::npos || job.job.starts_with('-') ||
      job.job.starts_with('.')) {
    table.findings().add(table.node().find("job")->place, table.key("job"),
                         fmt::format("it names files: expected letters, digits, \"_\", \"-\" and "
                                     "\".\", found \"{}\"",
                                     job.job));
  }
}

void refuse_srun_keys_under_mpirun(TableReader& table, const SlurmJob& job) {
  if (job.launch != SlurmLauncher::kMpirun) return;
  for (const char* name : {"mpi", "srun_args"}) {
    const TomlNode* node = table.node().find(name);
    if (node == nullptr || (node->kind == TomlNode::Kind::kArray && node->items.empty())) continue;
    table.findings().add(node->place, table.key(name),
                         "only for launch = \"srun\": mpirun would not see it");
  }
}

SlurmJob read_job(TableReader& table, ReadContext& context) {
  SlurmJob job;
  read_job_name(table, job);
  if (auto only = table.table("only")) job.only = read_matches(*only, context).lines;
  job.partition = table.name("partition").value_or("");
  job.account = table.name("account").value_or("");
  job.qos = table.name("qos").value_or("");
  job.gres = table.name("gres").value_or("");
  job.mpi = table.name("mpi").value_or("pmix");
  job.nodes = table.integer("nodes", 1, 65536).value_or(1);
  if (const auto launch = table.word("launch", kLaunchers))
    job.launch = *launch == "mpirun" ? SlurmLauncher::kMpirun : SlurmLauncher::kSrun;
  job.setup = read_texts(table, "setup");
  job.srun_args = read_texts(table, "srun_args");
  job.sbatch_args = read_texts(table, "sbatch_args");
  job.wrap = read_texts(table, "wrap");
  refuse_srun_keys_under_mpirun(table, job);
  read_time(table, job);
  read_end(table, job);
  table.refuse_unknown_keys();
  return job;
}

}  // namespace

std::vector<SlurmJob> read_slurm(TableReader& document, ReadContext& context) {
  std::vector<SlurmJob> jobs;
  std::set<std::string> names;
  for (TableReader& table : document.tables("slurm")) {
    jobs.push_back(read_job(table, context));
    const std::string& name = jobs.back().job;
    if (!name.empty() && !names.insert(name).second) {
      context.findings.add(table.place(), table.key("job"),
                           fmt::format("\"{}\" is declared twice", name));
    }
  }
  return jobs;
}

}  // namespace batchsweep::sweeps
