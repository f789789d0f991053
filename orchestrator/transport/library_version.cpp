// SPDX-License-Identifier: Apache-2.0
#include "orchestrator/transport/library_version.hpp"

#include <mpi.h>

namespace batchsweep::orchestrator {

std::string mpi_library_version() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  if (MPI_Get_library_version(text, &length) != MPI_SUCCESS) return "";
  const std::string whole(text, static_cast<std::size_t>(length));
  return whole.substr(0, whole.find_first_of("\n\0", 0, 2));
}

}  // namespace batchsweep::orchestrator
