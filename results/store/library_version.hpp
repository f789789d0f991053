// SPDX-License-Identifier: Apache-2.0
// Which HDF5 library this program is linked with at run time.
#pragma once

#include <string>

namespace batchsweep::results {

[[nodiscard]] std::string hdf5_library_version();  // "1.10.8"

}  // namespace batchsweep::results
