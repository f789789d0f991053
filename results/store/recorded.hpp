// SPDX-License-Identifier: Apache-2.0
// What a results file and its journal hold, as far as going on needs it. Reads only.
#pragma once

#include <string>
#include <vector>

#include "results/store/attempt_index.hpp"
#include "results/store/reader.hpp"

namespace batchsweep::results {

struct Recorded {
  bool has_file = false, has_journal = false;
  std::string file_id, origin;  // "" where there is neither
  AttemptIndex index;
  std::vector<RunInfo> runs;             // oldest first
  std::vector<SoftwareRecord> software;  // of the runs that count: the newest of each program, with
                                         // a GPU driver and without
  std::vector<RecordedGpu> gpus;         // of the runs that count
  std::uint64_t journal_bytes = 0, torn_bytes = 0;
  std::size_t journal_attempts = 0;
};

// Throws ResultsFileError: damaged, not HDF5, newer schema, a journal of another file.
[[nodiscard]] Recorded read_recorded(const std::string& path);

}  // namespace batchsweep::results
