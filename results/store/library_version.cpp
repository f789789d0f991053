// SPDX-License-Identifier: Apache-2.0
#include "results/store/library_version.hpp"

#include <fmt/format.h>
#include <hdf5.h>

namespace batchsweep::results {

std::string hdf5_library_version() {
  unsigned major = 0, minor = 0, release = 0;
  if (H5get_libversion(&major, &minor, &release) < 0) return "of an unknown version";
  return fmt::format("{}.{}.{}", major, minor, release);
}

}  // namespace batchsweep::results
