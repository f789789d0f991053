// SPDX-License-Identifier: Apache-2.0
// Judges the software below us: MPI and its launcher, LibTorch, the NVIDIA driver, HDF5, Slurm.
// Pure: what was asked comes in as text, so the tests bring the words of machines that we do not
// have.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/doctor/captured.hpp"
#include "cli/doctor/finding.hpp"

namespace batchsweep::cli {

// "Open MPI" and "4.1.4" out of what a library or a launcher says of itself; "" where it is not
// understood.
struct MpiVersion {
  std::string family, version;
  bool operator==(const MpiVersion&) const = default;
};
[[nodiscard]] MpiVersion parse_mpi_version(std::string_view text);

// Does the launcher in PATH belong to the library that we are linked with?
[[nodiscard]] Finding judge_launcher(std::string_view library_says, const Captured& mpirun_version);

// Two ranks under mpirun, each told what `batchsweep mpi-check` prints: "rank R of N, heard from P
// peers".
[[nodiscard]] Finding judge_start(const Captured& mpirun_two_ranks, bool root, bool root_allowed);

// What `batchsweep-trial --about` answers: the versions as JSON. `program` "": none was found.
struct TorchVersions {
  std::string torch, cuda, cudnn, nccl;
};
[[nodiscard]] std::optional<TorchVersions> parse_trial_version(std::string_view text);
[[nodiscard]] Finding judge_trial(const std::string& program, const Captured& trial_version);

struct GpuFacts {
  std::string name, compute_capability, driver_version;
};
// "Tesla T4, 7.5, 580.65.06", one a line, as nvidia-smi prints it; none where it is not there or
// fails.
[[nodiscard]] std::vector<GpuFacts> parse_nvidia_smi(const Captured& smi);
// Every GPU against what LibTorch 2.11's CUDA build needs: driver 580, compute capability 7.5.
[[nodiscard]] std::vector<Finding> judge_gpus(const std::vector<GpuFacts>& gpus,
                                              const std::optional<TorchVersions>& torch);

[[nodiscard]] Finding judge_slurm(const Captured& srun_version, const Captured& srun_mpi_list);

}  // namespace batchsweep::cli
