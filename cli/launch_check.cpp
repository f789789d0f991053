// SPDX-License-Identifier: Apache-2.0
#include "cli/launch_check.hpp"

#include <fmt/format.h>

#include <cstdlib>

#include "base/error.hpp"
#include "base/log.hpp"

namespace batchsweep::cli {
namespace {

std::optional<std::string> environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? std::optional<std::string>(value) : std::nullopt;
}

}  // namespace

std::optional<std::string> launch_problem(const std::optional<std::string>& slurm_procid,
                                          const std::optional<std::string>& slurm_ntasks, bool under_mpirun, int mpi_size) {
  if (!slurm_procid || under_mpirun) return std::nullopt;
  const std::string tasks = slurm_ntasks.value_or("1");
  if (tasks == std::to_string(mpi_size)) return std::nullopt;
  if (mpi_size > 1)
    return fmt::format(
        "MPI sees {} ranks, but this step of Slurm has {} task(s): start all ranks with one srun or one mpirun; --alone goes on as it is",
        mpi_size, tasks);
  return fmt::format(
      "Slurm started {} tasks, but MPI sees 1: wrong --mpi? Start with srun --mpi=pmix (srun --mpi=list shows what there is), or use "
      "--alone to run in this one task",
      tasks);
}

void warn_of_old_pmi() {
  if (!environment("SLURM_PROCID") || !environment("PMI_RANK") || environment("PMIX_RANK") || environment("OMPI_COMM_WORLD_SIZE"))
    return;
  log_warn("srun started this with PMI-1 or PMI-2, not PMIx: if MPI cannot start now, it is the wrong --mpi; start with srun --mpi=pmix");
}

void check_launch(int mpi_size, bool alone) {
  if (alone) return;
  const bool under_mpirun = environment("OMPI_COMM_WORLD_SIZE") && environment("OMPI_MCA_orte_hnp_uri");
  if (const auto problem = launch_problem(environment("SLURM_PROCID"), environment("SLURM_NTASKS"), under_mpirun, mpi_size)) {
    throw MpiError(*problem);
  }
}

}  // namespace batchsweep::cli
