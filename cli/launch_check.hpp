// SPDX-License-Identifier: Apache-2.0
// A wrong --mpi makes Slurm start n copies that each believe to be alone (n times the same sweep). Found before anything is written.
#pragma once

#include <map>
#include <optional>
#include <string>

namespace batchsweep::cli {

// Before MPI starts: not every MPI can use PMI-1 or PMI-2, and one that cannot ends the process in its own words. Says what to do then.
void warn_of_old_pmi();

// Throws MpiError when Slurm started more tasks than MPI sees (or fewer). `alone` overrides.
void check_launch(int mpi_size, bool alone);
// Pure: the complaint, nullopt when all is well. `under_mpirun`: mpirun's own variables are set, so Slurm's count is not the MPI size.
[[nodiscard]] std::optional<std::string> launch_problem(const std::optional<std::string>& slurm_procid,
                                                        const std::optional<std::string>& slurm_ntasks, bool under_mpirun,
                                                        int mpi_size);

}  // namespace batchsweep::cli
