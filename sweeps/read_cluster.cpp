// SPDX-License-Identifier: Apache-2.0
// [[slurm]], [cluster] and [prices]: read and checked whole. Nothing acts on them yet, so a sweep
// file that holds them is refused.
#include <fmt/format.h>

#include <array>
#include <set>

#include "base/units.hpp"
#include "sweeps/gpu_catalogue.hpp"
#include "sweeps/not_yet.hpp"
#include "sweeps/read_sections.hpp"

namespace batchsweep::sweeps {
namespace {

constexpr auto kLaunchers = std::to_array<std::string_view>({"srun", "mpirun"});

bool all_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// "minutes", "minutes:seconds", "hours:minutes:seconds", "days-hours", "days-hours:minutes",
// "days-hours:minutes:seconds", "UNLIMITED", or "12 h".
bool is_slurm_time(const std::string& text) {
  if (text == "UNLIMITED" || parse_seconds(text)) return true;
  std::string_view rest = text;
  const std::size_t dash = rest.find('-');
  if (dash != std::string_view::npos) {
    if (!all_digits(rest.substr(0, dash))) return false;
    rest.remove_prefix(dash + 1);
  }
  std::size_t parts = 1;
  for (std::size_t colon = 0; (colon = rest.find(':')) != std::string_view::npos; ++parts) {
    if (!all_digits(rest.substr(0, colon))) return false;
    rest.remove_prefix(colon + 1);
  }
  return all_digits(rest) && parts <= 3;
}

void read_texts(TableReader& table, const char* name) {
  const TomlNode* node = table.node().find(name);
  if (node != nullptr && node->kind != TomlNode::Kind::kArray) {
    table.findings().add(node->place, table.key(name),
                         fmt::format("expected a list of texts, found {}", describe(*node)));
    (void)table.find(name);
  } else {
    (void)table.names(name);
  }
}

void read_time_and_end(TableReader& table) {
  const auto time = table.name("time");
  if (time && !is_slurm_time(*time)) {
    table.findings().add(
        table.node().find("time")->place, table.key("time"),
        fmt::format("expected Slurm's \"HH:MM:SS\" or \"12 h\", found \"{}\"", *time));
  }
  const auto end = table.name("when_time_is_up");
  const bool chain =
      end && end->starts_with("chain:") && all_digits(end->substr(6)) && end->size() < 12;
  if (end && *end != "requeue" && !chain) {
    table.findings().add(table.node().find("when_time_is_up")->place, table.key("when_time_is_up"),
                         fmt::format("expected \"requeue\" or \"chain:5\", found \"{}\"", *end));
  }
}

std::string read_job(TableReader& table, ReadContext& context) {
  if (table.node().find("job") == nullptr)
    table.missing("job", "it names the job and its results file");
  const std::string job = table.name("job").value_or("");
  if (job.find('/') != std::string::npos) {
    table.findings().add(table.node().find("job")->place, table.key("job"),
                         "it names files: no \"/\"");
  }
  if (auto only = table.table("only")) (void)read_matches(*only, context);
  for (const char* name : {"partition", "account", "qos", "gres", "mpi"}) (void)table.name(name);
  (void)table.integer("nodes", 1, 65536);
  (void)table.word("launch", kLaunchers);
  for (const char* name : {"setup", "srun_args", "sbatch_args", "wrap"}) read_texts(table, name);
  read_time_and_end(table);
  table.refuse_unknown_keys();
  return job;
}

}  // namespace

void read_slurm(TableReader& document, MachineIn file, ReadContext& context) {
  std::set<std::string> jobs;
  for (TableReader& table : document.tables("slurm")) {
    const std::string job = read_job(table, context);
    if (!job.empty() && !jobs.insert(job).second) {
      context.findings.add(table.place(), table.key("job"),
                           fmt::format("\"{}\" is declared twice", job));
    }
    if (file == MachineIn::kSweepFile)
      refuse_not_yet("slurm", "", context.rehearsal, table.place(), "slurm", context.findings);
  }
}

void read_prices(TableReader& document, MachineIn file, ReadContext& context) {
  auto prices = document.table("prices");
  if (!prices) return;
  for (const TomlMember& member : prices->node().members) {
    auto price = prices->table(member.key);
    if (!price) continue;
    if (find_gpu(member.key) == nullptr)
      context.findings.add(member.key_place, price->path(), unknown_card(member.key));
    (void)price->number("buy", 0, 1e9);
    (void)price->number("hour", 0, 1e6);
    const auto currency = price->name("currency");
    if (currency &&
        (currency->size() != 3 ||
         currency->find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ") != std::string::npos)) {
      context.findings.add(
          price->node().find("currency")->place, price->key("currency"),
          fmt::format("expected three capitals such as \"EUR\", found \"{}\"", *currency));
    }
    price->refuse_unknown_keys();
  }
  if (file == MachineIn::kSweepFile)
    refuse_not_yet("prices", "", context.rehearsal, prices->place(), "prices", context.findings);
}

void read_cluster(TableReader& document, SweepSpec& sweep, ReadContext& context) {
  auto cluster = document.table("cluster");
  if (!cluster) return;
  if (const auto interface = cluster->name("interface")) sweep.cluster_interface = *interface;
  cluster->refuse_unknown_keys();
  refuse_not_yet("cluster", "", context.rehearsal, cluster->place(), "cluster", context.findings);
}

}  // namespace batchsweep::sweeps
