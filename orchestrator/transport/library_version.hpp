// SPDX-License-Identifier: Apache-2.0
// Which MPI library this program is linked with at run time. Initialises nothing.
#pragma once

#include <string>

namespace batchsweep::orchestrator {

[[nodiscard]] std::string mpi_library_version();  // the library's own words, one line

}  // namespace batchsweep::orchestrator
