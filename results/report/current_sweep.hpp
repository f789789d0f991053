// SPDX-License-Identifier: Apache-2.0
// What the newest sweep text of a results file asks for: which recorded rows belong to it, and in
// which order its axes stand. Reads the text as `plan` would; starts nothing.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "results/report/axes.hpp"
#include "results/store/reader.hpp"
#include "results/store/rerun.hpp"
#include "sweeps/grid.hpp"
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

// What the grid of a recorded sweep stood on, as its rows tell: the types that were asked for, and
// what trials were pinned to.
class SeenDevices {
 public:
  void note(const TrialRecord& trial);
  // A device that a running sweep has.
  void note_device(const std::string& type, const std::string& host, const std::string& uuid);
  [[nodiscard]] bool empty() const { return types_.empty(); }
  [[nodiscard]] sweeps::Grid grid_of(const sweeps::SweepSpec& sweep) const;

 private:
  std::set<std::string> types_;
  std::string last_type_;
  std::map<std::string, std::set<std::string>> hosts_, devices_;  // pinned to, by type
};

struct CurrentSweep {
  AxisOrder order;
  std::optional<TrialIdSet> trial_ids;  // absent: cannot be told
  std::string why_unknown;              // why they are absent, else ""
  Reruns reruns;                        // of the file's runs; with the ids only
  [[nodiscard]] bool asks_for(std::uint64_t trial_id) const;
};

// `with_ids`: makes the grid, a second for some hundred thousand trials; without, only the order of
// the axes is read.
[[nodiscard]] CurrentSweep read_current_sweep(const ResultsFile& file, const SeenDevices& devices,
                                              bool with_ids);

// A trial that the newest sweep text asks for.
struct AskedTrial {
  std::string trial_id;
  sweeps::TrialSpec spec;
  std::string description;  // "resnet18 on cpu-small, fp32, batch 8"
};

// Those whose id starts with `prefix`; none where the text cannot be read here.
[[nodiscard]] std::vector<AskedTrial> asked_trials(const ResultsFile& file,
                                                   const SeenDevices& devices,
                                                   const std::string& prefix);

}  // namespace batchsweep::results
