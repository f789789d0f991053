// SPDX-License-Identifier: Apache-2.0
#include "sweeps/sweep_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "base/json.hpp"
#include "sweeps/gpu_catalogue.hpp"
#include "sweeps/grid.hpp"
#include "sweeps/read_sections.hpp"
#include "sweeps/validate.hpp"

namespace batchsweep::sweeps {
namespace {

namespace fs = std::filesystem;

std::string read_file(const std::string& path) {
  const auto fail = [&](const std::string& why) {
    throw ConfigError({Diagnostic{path, 0, 0, "", "cannot read: " + why}});
  };
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) fail("it is a folder");
  std::ifstream file(path, std::ios::binary);
  if (!file) fail(std::generic_category().message(errno));
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// "" = there is none. One that was asked for must be there.
std::string site_path(const SweepFileOptions& options) {
  if (options.site) return *options.site;
  const char* from_environment = std::getenv("BATCHSWEEP_SITE");
  if (from_environment != nullptr && *from_environment != '\0') return from_environment;
  const char* home = std::getenv("HOME");
  const std::string usual =
      home == nullptr ? "" : std::string(home) + "/.config/batchsweep/site.toml";
  std::error_code error;
  return !usual.empty() && std::filesystem::exists(usual, error) ? usual : "";
}

using Devices = std::vector<std::pair<Place, DeclaredDevice>>;

struct Machine {
  Devices devices;
  std::vector<Runtime> runtimes;
  std::vector<SlurmJob> slurm;
};

Machine read_machine(TableReader& document, MachineIn file, ReadContext& context,
                     PlacedSweep& placed) {
  Machine machine;
  machine.devices = read_devices(document, context);
  machine.runtimes = read_runtimes(document, placed.device_names);
  machine.slurm = read_slurm(document, context);
  read_prices(document, file, context);
  return machine;
}

Machine read_site(const TomlNode& toml, SweepSpec& sweep, ReadContext& context,
                  PlacedSweep& placed) {
  TableReader document(toml, "", context.findings);
  if (const auto name = document.name("site")) sweep.site = *name;
  Machine machine = read_machine(document, MachineIn::kSiteFile, context, placed);
  for (const char* section :
       {"sweep", "grid", "exclude", "trial", "model", "cluster", "rehearsal"}) {
    const TomlNode* node = document.find(section);
    if (node != nullptr)
      context.findings.add(node->place, section,
                           "belongs into the sweep file, not into a site file");
  }
  document.refuse_unknown_keys();
  return machine;
}

// The sweep file wins, name by name.
void merge(const Machine& own, const Machine& site, SweepSpec& sweep) {
  for (const auto& [place, device] : own.devices) sweep.devices.push_back(device);
  for (const auto& [place, device] : site.devices) {
    const auto same = [&, &name = device.name](const auto& other) {
      return other.second.name == name;
    };
    if (std::none_of(own.devices.begin(), own.devices.end(), same)) sweep.devices.push_back(device);
  }
  sweep.runtimes = own.runtimes;
  for (const Runtime& runtime : site.runtimes) {
    const auto same = [&](const Runtime& other) { return other.name == runtime.name; };
    if (std::none_of(own.runtimes.begin(), own.runtimes.end(), same))
      sweep.runtimes.push_back(runtime);
  }
  // All or none: two files together would ask for the same part of the grid twice.
  sweep.slurm = own.slurm.empty() ? site.slurm : own.slurm;
}

GridBlock without_places(const PlacedBlock& placed) {
  GridBlock block;
  for (const PlacedAxis& axis : placed.axes)
    block.axes.push_back({std::string(axis.axis->name), axis.values});
  return block;
}

void read_grid(TableReader& document, SweepSpec& sweep, ReadContext& context, PlacedSweep& placed) {
  for (const TableReader& table : document.tables("grid")) {
    placed.blocks.push_back(read_grid_block(table, context));
    sweep.grid.push_back(without_places(placed.blocks.back()));
  }
  if (sweep.grid.empty() && document.node().find("grid") == nullptr) {
    document.missing("grid", "[grid] with model and batch_size");
  }
  for (const TableReader& table : document.tables("exclude")) {
    placed.excludes.push_back(read_matches(table, context));
    const std::vector<AxisMatch>& lines = placed.excludes.back().lines;
    if (table.node().members.empty())
      context.findings.add(table.place(), "exclude", "an empty [[exclude]] would drop every point");
    sweep.excludes.push_back(lines);
  }
}

void read_sections(TableReader& document, SweepSpec& sweep, ReadContext& context,
                   PlacedSweep& placed) {
  if (auto table = document.table("sweep")) {
    read_sweep_section(*table, sweep);
  } else if (document.node().find("sweep") == nullptr) {
    document.missing("sweep", "[sweep] with name");
  }
  sweep.base.seed = sweep.seed;
  if (context.rehearsal) sweep.base.origin = Origin::kRehearsed;
  if (auto table = document.table("trial"))
    read_trial_section(*table, sweep, context, placed.trial);
  if (auto table = document.table("model"))
    read_models(*table, sweep, context, placed.model_options);
  read_grid(document, sweep, context, placed);
  read_cluster(document, sweep, context);
  std::vector<PlacedMatches> whens;
  if (auto table = document.table("rehearsal"))
    sweep.rehearsal = read_rehearsal(*table, context, placed.device_names, whens);
}

// A card that a rehearsal only names is played with the catalogue's memory.
void declare_catalogue_cards(const PlacedSweep& placed, SweepSpec& sweep) {
  const auto declare = [&](const std::string& name) {
    const auto same = [&](const DeclaredDevice& device) { return device.name == name; };
    if (find_gpu(name) == nullptr || std::any_of(sweep.devices.begin(), sweep.devices.end(), same))
      return;
    DeclaredDevice device;
    device.name = name;
    device.kind = DeviceKind::kCuda;
    device.reserve_bytes = kCudaReserveBytes;
    sweep.devices.push_back(device);
  };
  for (const GridBlock& block : sweep.grid) {
    if (!block.axes.empty() && block.axes.front().name == "gpu") {
      for (const AxisValue& name : block.axes.front().values) declare(name);
    }
  }
  for (const Placed& name : placed.device_names) declare(name.text);
}

TomlNode parse_sweep(const std::string& text, const std::string& path,
                     const std::vector<std::string>& sets, Findings& findings) {
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) {
    throw ConfigError({Diagnostic{
        path, 0, 0, "",
        "empty file: a sweep needs at least [sweep] name and [grid] model and batch_size"}});
  }
  TomlNode toml = parse_toml(text, path);
  for (const std::string& set : sets) {
    try {
      set_toml_value(toml, set);
    } catch (const ConfigError& error) {
      findings.add(error.diagnostics());
    }
  }
  toml.place = {std::make_shared<const std::string>(path), 0, 0};
  return toml;
}

}  // namespace

void choose_job(SweepSpec& sweep, const std::string& name) {
  std::vector<std::string> names;
  for (const SlurmJob& job : sweep.slurm) {
    if (job.job == name) {
      sweep.part = job.only;
      return;
    }
    names.push_back(job.job);
  }
  if (names.empty())
    throw UsageError(fmt::format("--job {}: {} has no [[slurm]]", name, sweep.path));
  throw UsageError(fmt::format("--job {}: there is no such [[slurm]] job{}; there are: {}", name,
                               did_you_mean(name, names), fmt::join(names, ", ")));
}

std::vector<std::string> declared_types(const SweepSpec& sweep) {
  std::vector<std::string> types;
  const auto add = [&](const std::string& name) {
    if (std::find(types.begin(), types.end(), name) == types.end()) types.push_back(name);
  };
  if (sweep.rehearsal && !sweep.rehearsal->nodes.empty()) {
    for (const RehearsalNode& node : sweep.rehearsal->nodes) {
      for (const auto& [name, count] : node.devices) add(name);
    }
    return types;
  }
  for (const DeclaredDevice& device : sweep.devices) add(device.name);
  return types;
}

namespace {

// `sweep` holds the texts, their paths, --set, and the content of files that need not be there.
SweepSpec read_all(const std::string& text, SweepSpec sweep) {
  Findings findings;
  const TomlNode toml = parse_sweep(text, sweep.path, sweep.set, findings);
  const fs::path folder = fs::path(sweep.path).parent_path();
  ReadContext context{.findings = findings,
                      .rehearsal = toml.find("rehearsal") != nullptr,
                      .folder = (fs::path(sweep.typed_folder) / folder).string(),
                      .typed_folder = sweep.typed_folder,
                      .file_hashes = sweep.file_hashes};
  PlacedSweep placed;
  TableReader document(toml, "", findings);
  read_sections(document, sweep, context, placed);
  const Machine own = read_machine(document, MachineIn::kSweepFile, context, placed);
  document.refuse_unknown_keys();

  Machine site;
  TomlNode site_toml;
  if (!sweep.site_path.empty()) {
    site_toml = parse_toml(sweep.site_text, sweep.site_path);
    site = read_site(site_toml, sweep, context, placed);
  }
  merge(own, site, sweep);
  validate(sweep, placed, findings);
  std::vector<std::string> files{sweep.path, sweep.site_path};
  for (const std::string& set : sweep.set) files.push_back("--set " + set);
  findings.throw_if_any(files);
  if (sweep.rehearsal) declare_catalogue_cards(placed, sweep);
  return sweep;
}

}  // namespace

SweepSpec read_sweep_text(const std::string& text, const std::string& path,
                          const SweepFileOptions& options) {
  SweepSpec sweep;
  sweep.path = path;
  sweep.text = text;
  sweep.set = options.set;
  for (const std::string& set : sweep.set) sweep.text += fmt::format("# --set {}\n", set);
  sweep.typed_folder = fs::current_path().string();
  sweep.site_path = site_path(options);
  if (!sweep.site_path.empty()) sweep.site_text = read_file(sweep.site_path);
  return read_all(text, std::move(sweep));
}

std::string inputs_text(const SweepSpec& sweep) {
  return dump(Json{{"path", sweep.path},
                   {"folder", sweep.typed_folder},
                   {"set", sweep.set},
                   {"site_path", sweep.site_path},
                   {"file_hashes", sweep.file_hashes}});
}

SweepSpec read_recorded_sweep(const std::string& text, const std::string& site_text,
                              const std::string& inputs) {
  SweepSpec sweep;
  sweep.text = text;
  sweep.site_text = site_text;
  if (inputs.empty()) {
    sweep.path = "recorded sweep";
    sweep.typed_folder = fs::current_path().string();
    if (!site_text.empty()) sweep.site_path = "recorded site";
  } else {
    try {
      const Json json = Json::parse(inputs);
      sweep.path = json.at("path");
      sweep.typed_folder = json.at("folder");
      sweep.set = json.at("set");
      sweep.site_path = json.at("site_path");
      sweep.file_hashes = json.at("file_hashes");
    } catch (const Json::exception& error) {
      throw ConfigError({Diagnostic{"recorded sweep", 0, 0, "",
                                    fmt::format("its inputs cannot be read: {}", error.what())}});
    }
  }
  return read_all(text, std::move(sweep));
}

SweepSpec read_sweep_file(const std::string& path, const SweepFileOptions& options) {
  return read_sweep_text(read_file(path), path, options);
}

}  // namespace batchsweep::sweeps
