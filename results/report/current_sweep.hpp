// SPDX-License-Identifier: Apache-2.0
// What the newest sweep text of a results file asks for: which recorded rows belong to it, and in
// which order its axes stand. Reads the text as `plan` would; starts nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "results/report/axes.hpp"
#include "results/store/reader.hpp"
#include "results/store/rerun.hpp"
#include "sweeps/trial_spec.hpp"

namespace batchsweep::results {

// Identities are hashes already: their low bits choose the slot. A question costs one look at
// memory, which a million rows notice.
class TrialIdSet {
 public:
  explicit TrialIdSet(std::size_t most);
  void insert(std::uint64_t id);
  [[nodiscard]] bool contains(std::uint64_t id) const;

 private:
  std::vector<std::uint64_t> slots_;  // 0 is a free slot
  bool has_zero_ = false;
};

struct CurrentSweep {
  AxisOrder order;
  std::optional<TrialIdSet> trial_ids;  // absent: cannot be told
  std::string why_unknown;              // why they are absent, else ""
  Reruns reruns;                        // of the file's runs; with the ids only
  [[nodiscard]] bool asks_for(std::uint64_t trial_id) const;
};

// `requested_types`: what gpu = "all" stood for. `with_ids`: makes the grid, a second for some
// hundred thousand trials; without, only the order of the axes is read.
[[nodiscard]] CurrentSweep read_current_sweep(const ResultsFile& file,
                                              const std::vector<std::string>& requested_types,
                                              bool with_ids);

// A trial that the newest sweep text asks for.
struct AskedTrial {
  std::string trial_id;
  sweeps::TrialSpec spec;
  std::string description;  // "resnet18 on cpu-small, fp32, batch 8"
};

// Those whose id starts with `prefix`; none where the text cannot be read here.
[[nodiscard]] std::vector<AskedTrial> asked_trials(const ResultsFile& file,
                                                   const std::vector<std::string>& requested_types,
                                                   const std::string& prefix);

}  // namespace batchsweep::results
