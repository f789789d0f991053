// SPDX-License-Identifier: Apache-2.0
// Which attempt is a trial's row, what is known of each trial: from all attempts of a file and its
// journal. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "results/record/trial_record.hpp"
#include "results/store/results_store.hpp"

namespace batchsweep::results {

class AttemptIndex {
 public:
  // In any order; `row` is the caller's number for it. Throws ResultsFileError where a word of a
  // closed list is unknown.
  void add(const TrialRecord& record, std::uint32_t row);
  // A `started` frame, in the journal's order among the recorded ones.
  void add_started(const std::string& run_id, const std::string& trial_id, std::int64_t repeat,
                   std::int64_t attempt);

  // The callers' numbers of the attempts that are rows of /trials, and of those that are not; both
  // in the order of recording.
  struct Selection {
    std::vector<std::uint32_t> trials, attempts;
  };
  [[nodiscard]] Selection select();

  // What each of these runs knows.
  [[nodiscard]] std::vector<RecordedState> states(const std::vector<RunInfo>& runs);
  struct OpenStart {
    std::string run_id;
    sweeps::TrialId trial;
    std::int64_t repeat = 0, attempt = 1;
  };
  [[nodiscard]] std::vector<OpenStart> open_starts();
  [[nodiscard]] std::int64_t last_sequence() const { return last_sequence_; }

 private:
  struct Item {
    std::uint64_t trial = 0;
    std::int64_t sequence = 0;
    std::uint32_t run = 0, row = 0;
    std::int32_t repeat = 0, attempt = 0;
    Outcome outcome = Outcome::kInterrupted;
    Reason reason = Reason::kNone;
    bool started_only = false;
    bool superseded = false;  // in neither table
  };
  // All that is known of one (run, trial, repeat).
  struct Entry {
    std::uint32_t run = 0;
    std::uint32_t best = 0;  // index of an Item
    int best_class = 0;      // 0: has no row
    std::uint64_t seen = 0;  // attempts recorded, one bit each
    std::uint64_t open = 0;  // started, not recorded
    RecordedState state;
  };
  [[nodiscard]] std::uint32_t run_number(const std::string& run_id);
  void build();
  void merge(Item& item, std::uint32_t index, Entry& entry);

  std::vector<std::string> runs_;
  std::vector<Item> items_;
  std::vector<Entry> entries_;
  std::int64_t last_sequence_ = 0;
  bool built_ = false;
};

}  // namespace batchsweep::results
