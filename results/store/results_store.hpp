// SPDX-License-Identifier: Apache-2.0
// The one writer of a results file: lock, journal (the truth while a sweep runs), publishing of the .h5 (a derived view) in a child.
// Layout: docs/file_format.md. Nobody else writes F.h5, F.h5.journal, F.h5.lock.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "results/record/trial_record.hpp"
#include "results/store/reader.hpp"
#include "sweeps/trial_spec.hpp"

namespace batchsweep::results {

// What is known of one (trial, repeat), in one run or (results/store/rerun.hpp) now: all that going on needs, so that a
// long sweep's rows need not stay in memory.
struct RecordedState {
  sweeps::TrialId trial;
  std::int32_t repeat = 0;
  std::int32_t attempts = 0;     // highest attempt number so far, recorded or started
  std::int32_t executions = 0;   // crashed and lost ones: what the crash budget counts
  std::int32_t open_starts = 0;  // started without an end, over the life of the file
  Outcome outcome = Outcome::kInterrupted;
  Reason reason = Reason::kNone;
  bool has_row = false;
  std::uint32_t run = 0;  // place in the file's runs, oldest first
};
// Nothing is left to do for it.
[[nodiscard]] constexpr bool is_final(const RecordedState& state, std::int64_t retries) {
  return state.has_row && is_final(state.outcome, state.reason, state.executions, retries);
}

// A GPU that trials asked for as `gpu` ran on.
struct RecordedGpu {
  std::string gpu, device_name, driver_version;
  auto operator<=>(const RecordedGpu&) const = default;
};

struct StoreOptions {
  std::string path;  // F.h5
  sweeps::Origin origin = sweeps::Origin::kMeasured;
  std::string site, sweep_text, site_text, sweep_inputs, sweep_name;
  std::optional<std::string> rerun;  // begins a new run; see results/store/rerun.hpp
  std::string publish_program;  // absolute path of batchsweep, for the child `batchsweep publish`; "" publishes in this process
};

// Throws ResultsFileError where `found` rows would get `wanted` ones ("measured", "rehearsed") beside them.
void check_origin(const std::string& path, const std::string& found, const std::string& wanted);

// Throws ResultsFileError (damaged, not HDF5, newer schema, other origin, locked by a running sweep, journal of another file) and
// IoError (folder read-only, disk full). Takes the lock before anything is touched; an existing file is never emptied.
class ResultsStore {
 public:
  ResultsStore(const StoreOptions& options, const Clock& clock);
  ~ResultsStore();  // releases the lock; what is not synced is lost; a journal in which this start recorded nothing is left as found
  ResultsStore(const ResultsStore&) = delete;
  ResultsStore& operator=(const ResultsStore&) = delete;

  [[nodiscard]] const std::string& run_id() const;
  [[nodiscard]] const std::string& file_id() const;
  // As found at opening, of each run; `what_counts` says where a trial stands.
  [[nodiscard]] const std::vector<RecordedState>& recorded() const;
  [[nodiscard]] const std::vector<RunInfo>& runs() const;  // oldest first; the last is this one
  [[nodiscard]] std::int64_t next_sequence() const;
  // Text of the newest recorded sweep, "" for a new file: to tell kept / new / no longer asked.
  [[nodiscard]] const std::string& previous_sweep_text() const;
  // The newest software of the runs that count, per trial program, with a GPU driver and without: going on under another is refused, because
  // rows of two versions in one table would be compared.
  [[nodiscard]] const std::vector<SoftwareRecord>& recorded_software() const;
  // All GPUs of the runs that count: another card or driver under the same name is another speed.
  [[nodiscard]] const std::vector<RecordedGpu>& recorded_gpus() const;
  // What opening had to say: "F.h5 was missing beside its journal: rebuilt 12 trials", ...
  [[nodiscard]] const std::vector<std::string>& notices() const;

  // The sweep begins: from now on there is an F.h5, be it without rows. Without this, or before
  // anything else is recorded, an error leaves F.h5 and journal as they were found. Throws IoError.
  void begin();

  // A frame without fdatasync: an attempt that starts (survives kill -9, not a power cut).
  void note_started(sweeps::TrialId trial, std::int64_t repeat, std::int64_t attempt);
  // Appends a frame; recorded only after sync().
  void append(const AttemptRecord& attempt);
  // fdatasync: everything appended is durable. Throws IoError; after ENOSPC the journal ends at its last whole frame.
  void sync();

  // Starts the publishing child when one is due (the longer of 2 s and 20 x the last one), reaps a finished one. Never blocks.
  // Also bumps the lock's counter; throws IoError where another sweep has taken the lock over.
  void poll(Instant now);
  // Publishes all, removes the journal, releases the lock. Throws IoError.
  void close();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The body of the hidden `batchsweep publish F.h5`: journal + previous .h5 -> temporary file -> fsync -> rename -> fsync of the folder.
void publish(const std::string& path);

}  // namespace batchsweep::results
