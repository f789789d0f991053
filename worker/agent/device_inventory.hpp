// SPDX-License-Identifier: Apache-2.0
// Takes stock of this host: CPUs, memory, GPUs (NVML in a child `batchsweep probe`, because it can hang on a sick card), and turns
// them with the declared devices into what is offered.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "results/record/trial_record.hpp"
#include "sweeps/sweep_spec.hpp"
#include "worker/protocol/messages.hpp"

namespace batchsweep::agent {

struct FoundGpu {
  std::string uuid, driver_name, pci_bus_id, compute_capability, driver_version;
  std::uint64_t memory_bytes = 0;
  std::optional<std::uint64_t> used_bytes;  // now, by anybody; without what the driver itself keeps
  std::vector<std::string> processes;       // that compute on it now, as people name them
  bool prohibited = false;                  // compute mode Prohibited: takes no process at all
};
struct FoundHost {
  std::string name;  // BATCHSWEEP_HOST (%r = MPI rank), else SLURMD_NODENAME, else the hostname
  results::HostRecord record;
  std::int64_t cores_allowed = 1;
  std::uint64_t memory_available_bytes = 0;
  std::vector<FoundGpu> gpus;
  std::vector<std::string> notices;  // "the NVIDIA driver does not answer ...", ...
};

// `batchsweep_program probe` asks the driver, and is given up after `probe_limit_s`.
[[nodiscard]] FoundHost take_stock(int mpi_rank, const std::string& batchsweep_program, double probe_limit_s = 10);

// Pure: the GPUs that CUDA would show under this value of CUDA_VISIBLE_DEVICES (nullopt: unset), in PCI order; says what is odd.
[[nodiscard]] std::vector<FoundGpu> visible_gpus(std::vector<FoundGpu> gpus, const std::optional<std::string>& visible_devices,
                                                 std::vector<std::string>& notices);

// Pure: the name that trials ask for: the catalogue's where driver name and memory (-10/+2 %) agree, else the driver's.
[[nodiscard]] std::string type_of(const FoundGpu& gpu);
// Pure: the sentence for a card that carries a catalogue card's name but not its memory; such a one is never offered under that name.
[[nodiscard]] std::optional<std::string> memory_mismatch(const FoundGpu& gpu);

// Pure: what this host offers. Throws ConfigError/UsageError where a declaration cannot hold here (count beyond the GPUs, threads
// beyond the cores without oversubscribe; neither is checked in a rehearsal).
[[nodiscard]] std::vector<protocol::DeviceOffer> offered_devices(const FoundHost& host,
                                                                  const std::vector<sweeps::DeclaredDevice>& declared,
                                                                  bool rehearsal);

// What `batchsweep probe` printed; nullopt where it is no such answer.
[[nodiscard]] std::optional<std::vector<FoundGpu>> gpus_of_probe(const std::string& answer);

// The body of the hidden `batchsweep probe`: what NVML finds, as one line of JSON.
[[nodiscard]] std::string probe_gpus_json(const std::string& nvml_library = "libnvidia-ml.so.1");

}  // namespace batchsweep::agent
