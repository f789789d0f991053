// SPDX-License-Identifier: Apache-2.0
#include "results/store/rerun.hpp"

#include <algorithm>
#include <tuple>

#include "base/check.hpp"
#include "base/error.hpp"

namespace batchsweep::results {
namespace {

Rerun read_rerun(const RunInfo& run) {
  try {
    return parse_rerun(run.rerun);
  } catch (const UsageError& error) {
    throw ResultsFileError("run " + run.run_id +
                           " was begun with what this version does not know (" + error.what() +
                           "): use the batchsweep that wrote the file");
  }
}

bool asks_for_all(const RunInfo& run) { return run.rerun.empty() || run.rerun == "all"; }

// What a newer run knows beside what is known so far.
void add(const RecordedState& newer, RecordedState& known) {
  known.attempts = std::max(known.attempts, newer.attempts);
  known.executions += newer.executions;
  known.open_starts += newer.open_starts;
  if (!newer.has_row) return;
  known.has_row = true;
  known.run = newer.run;
  known.outcome = newer.outcome;
  known.reason = newer.reason;
}

bool same_pair(const RecordedState& a, const RecordedState& b) {
  return a.trial == b.trial && a.repeat == b.repeat;
}

}  // namespace

Rerun parse_rerun(const std::string& text) {
  if (text == "all") return {};
  if (text == "failed") return {.kind = Rerun::Kind::kFailed, .lines = {}};
  if (text.find('=') == std::string::npos)
    throw UsageError(
        "--rerun \"" + text +
        "\": expected all, failed, or a filter, for example model=resnet18,batch_size=8..64");
  return {.kind = Rerun::Kind::kFilter, .lines = sweeps::parse_only(text, "--rerun")};
}

std::size_t first_that_counts(const std::vector<RunInfo>& runs) {
  for (std::size_t i = runs.size(); i-- > 0;) {
    if (asks_for_all(runs[i])) return i;
  }
  return 0;
}

Reruns::Reruns(const std::vector<RunInfo>& runs, const sweeps::Grid* grid)
    : first_(first_that_counts(runs)) {
  runs_.resize(runs.size());
  for (std::size_t i = first_ + 1; i < runs.size(); ++i) runs_[i].rerun = read_rerun(runs[i]);
  if (grid == nullptr || !any_filter()) return;
  grid->for_each([&](std::size_t i, const sweeps::TrialSpec& spec) { note(grid->id(i), spec); });
}

void Reruns::note(sweeps::TrialId trial, const sweeps::TrialSpec& spec) {
  for (Run& run : runs_) {
    if (run.rerun.kind == Rerun::Kind::kFilter && matches(spec, run.rerun.lines))
      run.matching.insert(trial.value);
  }
}

bool Reruns::any_filter() const {
  return std::any_of(runs_.begin(), runs_.end(),
                     [](const Run& run) { return run.rerun.kind == Rerun::Kind::kFilter; });
}

bool Reruns::asks_again(std::size_t run, sweeps::TrialId trial, Outcome outcome) const {
  switch (runs_[run].rerun.kind) {
    case Rerun::Kind::kAll:
      return true;
    case Rerun::Kind::kFailed:
      return is_failure(outcome);
    case Rerun::Kind::kFilter:
      return runs_[run].matching.contains(trial.value);
  }
  return false;
}

std::vector<RecordedState> what_counts(std::vector<RecordedState> states, const Reruns& reruns) {
  const auto before_first = [&](const RecordedState& state) { return state.run < reruns.first(); };
  std::erase_if(states, before_first);
  if (reruns.first() + 1 >= reruns.size()) return states;
  std::sort(states.begin(), states.end(), [](const RecordedState& a, const RecordedState& b) {
    return std::tie(a.trial, a.repeat, a.run) < std::tie(b.trial, b.repeat, b.run);
  });
  std::vector<RecordedState> counting;
  for (std::size_t i = 0; i < states.size();) {
    BATCHSWEEP_ASSERT(states[i].run < reruns.size());
    const RecordedState nothing{.trial = states[i].trial, .repeat = states[i].repeat};
    RecordedState known = nothing;
    bool any = false;
    const std::size_t begin = i;
    for (std::size_t run = reruns.first(); run < reruns.size(); ++run) {
      if (run > reruns.first() && reruns.asks_again(run, known.trial, known.outcome)) {
        known = nothing;
        any = false;
      }
      for (; i < states.size() && states[i].run == run && same_pair(states[i], states[begin]);
           ++i) {
        add(states[i], known);
        any = true;
      }
    }
    if (any) counting.push_back(known);
  }
  return counting;
}

}  // namespace batchsweep::results
