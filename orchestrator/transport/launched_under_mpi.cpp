// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>

#include "orchestrator/transport/transports.hpp"

namespace batchsweep::orchestrator {

bool launched_under_mpi() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK"}) {
    if (std::getenv(name) != nullptr) return true;
  }
  return false;
}

}  // namespace batchsweep::orchestrator
