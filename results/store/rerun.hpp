// SPDX-License-Identifier: Apache-2.0
// What counts of several runs in one file. A run that was begun with --rerun asks some trials
// again: what older runs recorded of those counts no more, all else stays. Going on, plan and
// report ask here. Pure: knows nothing of files.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "results/store/reader.hpp"
#include "results/store/results_store.hpp"
#include "sweeps/grid.hpp"

namespace batchsweep::results {

// What a run asks again of what older runs recorded.
struct Rerun {
  enum class Kind { kAll, kFailed, kFilter };
  Kind kind = Kind::kAll;
  std::vector<sweeps::AxisMatch> lines;  // of a filter
};
// "all", "failed", or a filter as of --only. Throws UsageError.
[[nodiscard]] Rerun parse_rerun(const std::string& text);

// The place of the newest run that asks for all, as a first run does: before it nothing counts.
[[nodiscard]] std::size_t first_that_counts(const std::vector<RunInfo>& runs);

class Reruns {
 public:
  Reruns() = default;
  // Oldest first. The grid is walked only where a filter asks for it; without one, or for a trial
  // that is not in it, no filter matches. Throws ResultsFileError where a filter cannot be read.
  Reruns(const std::vector<RunInfo>& runs, const sweeps::Grid* grid);

  // A trial that the filters are asked about without a grid.
  void note(sweeps::TrialId trial, const sweeps::TrialSpec& spec);

  // Does this run ask the trial again, which stood at `outcome` before?
  [[nodiscard]] bool asks_again(std::size_t run, sweeps::TrialId trial, Outcome outcome) const;
  [[nodiscard]] std::size_t first() const { return first_; }  // see first_that_counts
  [[nodiscard]] std::size_t size() const { return runs_.size(); }
  [[nodiscard]] bool any_filter() const;

 private:
  struct Run {
    Rerun rerun;
    std::unordered_set<std::uint64_t> matching;  // trials of a filter
  };
  std::vector<Run> runs_;
  std::size_t first_ = 0;
};

// From what each run knows of a (trial, repeat) to what is known of it now, by trial and repeat:
// its row is that of the newest run that has one, unless a run newer than that one asks again;
// budgets and attempts count from there on, through all runs. What is to be run from scratch is
// left out.
[[nodiscard]] std::vector<RecordedState> what_counts(std::vector<RecordedState> states,
                                                     const Reruns& reruns);

}  // namespace batchsweep::results
