// SPDX-License-Identifier: Apache-2.0
// Opening a results file for reading: is it there, whole, HDF5, ours, of a schema that we know.
// Every refusal is a ResultsFileError that says why. Knows nothing of rows.
#pragma once

#include <cstdint>
#include <string>

#include "base/error.hpp"
#include "results/store/h5.hpp"

namespace batchsweep::results {

struct OpenedResults {
  H5File file;
  std::string file_id, origin, sweep_name;
  std::int64_t schema_version = 0;
};
[[nodiscard]] OpenedResults open_results(const std::string& path);

// The 64 bytes behind the HDF5 data: its length and CRC-32. HDF5 finds most damage only by tripping
// over it, some never.
[[nodiscard]] std::string seal_of(std::string_view content);
enum class Seal { kNone, kRight, kWrong };
[[nodiscard]] Seal check_seal(const std::string& path);

[[noreturn]] void throw_damaged(const std::string& path, std::string_view why);
// Runs `read`; what HDF5 trips over becomes "damaged: ...".
template <class Read>
auto reading(const std::string& path, const Read& read) {
  try {
    return read();
  } catch (const H5Error& error) {
    throw_damaged(path, error.what());
  }
}

}  // namespace batchsweep::results
