// SPDX-License-Identifier: Apache-2.0
// Recorded rows, gathered by all axes but the batch: what every answer of the report starts from.
// Rows are added one by one and forgotten; time and memory grow linearly with their number. Judges
// nothing beyond which rows count.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "results/record/outcome.hpp"
#include "results/record/trial_record.hpp"
#include "results/report/axes.hpp"

namespace batchsweep::results {

inline constexpr std::size_t kOutcomeCount = enum_names(Outcome{}).size();
using OutcomeCounts = std::array<std::int64_t, kOutcomeCount>;

// What one batch of one group gave: medians over the processes that count (repeats); absent where
// no row said.
struct BatchPoint {
  std::int64_t batch = 0, global_batch = 0;
  OutcomeCounts outcomes{};
  // Completed ones that count: at least two optimizer steps applied, and real batches as large as
  // asked. The others ran, but do not show that the batch fits.
  std::int64_t counted = 0;
  std::int64_t trials =
      0;  // different identities: more than one where settings without a column differ
  std::optional<double> samples_per_s, tokens_per_s, step_time_s;
  std::optional<double> step_time_low_s, step_time_high_s;  // of the median: the widest of theirs
  std::optional<double> rate_low, rate_high;  // samples/s: the widest of the processes' intervals
  std::optional<double> peak_allocated_bytes, peak_reserved_bytes, peak_device_used_bytes;
  std::optional<double> limit_bytes;  // memory - reserve
  std::optional<double> oom_requested_bytes, oom_allocated_bytes, oom_reserved_bytes;
  bool not_alone = false;      // another trial ran on the host meanwhile
  bool not_native = false;     // the precision is emulated in software there
  bool short_batches = false;  // fewer samples than steps x batch
  std::int64_t skipped_steps = 0;

  [[nodiscard]] std::int64_t count(Outcome outcome) const {
    return outcomes[static_cast<std::size_t>(outcome)];
  }
  // A process that counts ran to its end, and none ran out of memory.
  [[nodiscard]] bool fits() const { return counted > 0 && count(Outcome::kOutOfMemory) == 0; }
};

struct Group {
  AxisKey key{};
  bool emulated = false;
  std::vector<BatchPoint> points;  // by batch, ascending
};

struct Failure {
  std::size_t group = 0;
  std::int64_t batch = 0;
  std::string trial_id;
  std::int64_t repeat = 0, attempt = 1, sequence = 0;
  Outcome outcome = Outcome::kFailed;
  std::string reason, phase, message, hostname;
  Number guilty_rank, exit_code, signal;
};

struct SkippedTrials {
  std::string reason, message;
  std::int64_t trials = 0;
};

struct Groups {
  AxisValues values;
  std::vector<Group> groups;  // in the order of the axes
  OutcomeCounts outcomes{};
  std::vector<Failure> failures;  // in the order of recording
  std::vector<SkippedTrials> skipped;
  std::vector<std::string> executions;  // what the rows say, "eager"
  std::int64_t rows = 0;
  std::int64_t unknown_outcomes = 0;  // words of a newer version
};

// Each value of `by` comes with one value of `axis` only (and not the other way round).
[[nodiscard]] bool follows_from(const Groups& groups, std::size_t axis, std::size_t by);

// What decides whether a row counts; known only when the whole file has been read.
struct RowName {
  std::uint32_t file = 0;
  const std::string& run_id;
  std::uint64_t trial_id = 0;
  std::int32_t repeat = 0;
  Outcome outcome = Outcome::kCompleted;
};

class GroupBuilder {
 public:
  GroupBuilder();
  ~GroupBuilder();
  void add(const TrialRecord& trial, std::uint32_t file = 0);
  void for_each_row(const std::function<void(const RowName&)>& visit) const;
  // `keep` is asked once a row. A (run, trial, repeat) that comes twice, as in two copies of a
  // file, counts once.
  [[nodiscard]] Groups finish(const AxisOrder& order,
                              const std::function<bool(const RowName&)>& keep) &&;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace batchsweep::results
