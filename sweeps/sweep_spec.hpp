// SPDX-License-Identifier: Apache-2.0
// A sweep file (and site file), read and checked, as plain structs: every key that a file may hold. sweeps/sweep_file.hpp makes it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sweeps/axis.hpp"
#include "sweeps/rehearsal.hpp"
#include "sweeps/slurm_job.hpp"
#include "sweeps/trial_spec.hpp"

namespace batchsweep::sweeps {

enum class DeviceKind { kCpu, kCuda };
constexpr auto enum_names(DeviceKind) {
  return std::to_array<EnumName<DeviceKind>>({{DeviceKind::kCpu, "cpu"}, {DeviceKind::kCuda, "cuda"}});
}

// One [[device]]: what each host shall offer beside what is found.
struct DeclaredDevice {
  std::string name;
  DeviceKind kind = DeviceKind::kCpu;
  std::optional<std::uint64_t> memory_bytes;  // the cap; absent for a catalogue name: the catalogue's
  std::uint64_t reserve_bytes = 0;            // taken off the memory; default 0 for cpu, 600 MiB for cuda
  std::optional<std::int64_t> threads;        // absent: all allowed cores / count
  std::int64_t count = 1;
  std::string on;     // cuda: the real type that carries an emulated card
  std::string hosts;  // "n[1-4]"; "" = every host
  bool oversubscribe = false;
  bool operator==(const DeclaredDevice&) const = default;
};

// Context, NCCL and libraries take about so much of a card before the first tensor.
inline constexpr std::uint64_t kCudaReserveBytes = 600ULL << 20;

struct Runtime {
  std::string name;
  std::vector<std::string> command;
  std::vector<std::string> gpus;  // where it may be used; empty: everywhere
  bool operator==(const Runtime&) const = default;
};

enum class Order { kAuto, kGrid, kShuffled };
constexpr auto enum_names(Order) {
  return std::to_array<EnumName<Order>>({{Order::kAuto, "auto"}, {Order::kGrid, "grid"}, {Order::kShuffled, "shuffled"}});
}

struct SweepSpec {
  std::string name;
  std::uint64_t seed = 1;
  Order order = Order::kAuto;
  std::string site;  // name of the site file's site, "" = none
  std::vector<GridBlock> grid;
  std::vector<std::vector<AxisMatch>> excludes;
  std::vector<std::vector<AxisMatch>> only;  // --only: the grid keeps what one of them matches; empty: all
  std::vector<AxisMatch> part;  // --job: the part of one [[slurm]] job; the grid keeps what matches all lines
  TrialSpec base;  // the [trial] keys; a grid point overrides its axes
  TrialLimits limits;
  std::int64_t repeats = 1;
  bool exclusive_host = false;
  std::map<std::string, TrialSpec> models;  // [model.NAME]: only model_*, loss and options; data "" = as [trial]
  std::vector<DeclaredDevice> devices;
  std::vector<Runtime> runtimes;
  std::vector<SlurmJob> slurm;  // of the sweep file; where that has none, of the site file
  std::string cluster_interface;
  std::optional<Rehearsal> rehearsal;  // present: nothing really trains
  std::map<std::string, std::string> file_hashes;  // full path -> hash of the content (data, model, weights)

  std::string path, text;            // the sweep file as read (text goes into the results file)
  std::string site_path, site_text;  // the site file, "" = none
  std::vector<std::string> set;      // what --set changed, in order
  std::string typed_folder;          // full path of the folder that file names in --set start from
};

}  // namespace batchsweep::sweeps
