// SPDX-License-Identifier: Apache-2.0
// The two forms of protocol::Transport. mpi.h is included in this folder only.
#pragma once

#include <memory>

#include "worker/protocol/transport.hpp"

namespace batchsweep::orchestrator {

// True where a launcher's variables are set (OMPI_COMM_WORLD_SIZE, PMIX_RANK, PMI_RANK): only then is MPI ever initialised.
[[nodiscard]] bool launched_under_mpi();

// One process, no MPI.
[[nodiscard]] std::unique_ptr<protocol::Transport> make_loopback_transport();
// MPI_Init, point to point, Isend and Iprobe only. Throws MpiError. Polls twice per receive() round.
[[nodiscard]] std::unique_ptr<protocol::Transport> make_mpi_transport();

}  // namespace batchsweep::orchestrator
