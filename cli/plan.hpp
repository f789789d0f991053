// SPDX-License-Identifier: Apache-2.0
// What `batchsweep plan` tells: the grid against what is recorded and what is here. Pure but for
// read_recorded; starts nothing.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/json.hpp"
#include "base/table.hpp"
#include "cli/present.hpp"
#include "results/report/current_sweep.hpp"
#include "results/store/results_store.hpp"
#include "sweeps/grid.hpp"
#include "sweeps/sweep_spec.hpp"

namespace batchsweep::cli {

// Durations of recorded trials, summed by what the sweep asked for.
struct Durations {
  struct Sum {
    double total_s = 0;
    std::int64_t count = 0;
  };
  std::map<std::pair<std::string, std::string>, Sum> by_gpu_and_model;
};

// What planning needs of a results file and the journal beside it.
struct RecordedSweep {
  std::vector<results::RunInfo> runs;
  std::vector<results::RecordedState> states;  // as `run` finds them
  results::SeenDevices devices;                // that its rows asked for
  Durations durations;                         // of the runs that count, from the .h5 alone
};
// Empty where there is neither. Throws ResultsFileError where `run` would refuse the file.
[[nodiscard]] RecordedSweep read_recorded(const std::string& path, sweeps::Origin origin);

struct Plan {
  const sweeps::SweepSpec* sweep = nullptr;
  const sweeps::Grid* grid = nullptr;
  std::vector<std::string>
      states;  // of each: "to run", "completed", "1 of 3 recorded", "no such device"
  std::int64_t total = 0, recorded = 0, remaining = 0, no_device = 0;  // (trial, repeat)
  std::map<std::string, std::int64_t> absent;  // what is not here -> (trial, repeat) that need it
  // From the durations of recorded trials; absent: nothing is recorded that could tell.
  std::optional<double> expected_s, device_hours;
  std::int64_t without_estimate =
      0;  // remaining ones that no recorded trial of the same gpu and model tells about
};

[[nodiscard]] Plan make_plan(const sweeps::SweepSpec& sweep, const sweeps::Grid& grid,
                             const Present& present, const RecordedSweep& recorded);

// Where a Slurm job stands, as its rows tell: what its nodes have is not known on this machine. Settled is
// what is recorded for good, and what found no device of its type there.
struct JobProgress {
  std::int64_t settled = 0, remaining = 0;  // (trial, repeat)
};
[[nodiscard]] JobProgress progress_of_job(const sweeps::SweepSpec& sweep, const RecordedSweep& recorded);

[[nodiscard]] std::string summary(const Plan& plan);
// The first `most` trials; axes with one value stand in summary(), not here.
[[nodiscard]] Table trials_table(const Plan& plan, std::size_t most);
[[nodiscard]] Json plan_json(const Plan& plan);

}  // namespace batchsweep::cli
