// SPDX-License-Identifier: Apache-2.0
#include "results/report/current_sweep.hpp"

#include <fmt/format.h>

#include <bit>
#include <string_view>

#include "base/error.hpp"
#include "sweeps/grid.hpp"
#include "sweeps/sweep_file.hpp"

namespace batchsweep::results {

TrialIdSet::TrialIdSet(std::size_t most) : slots_(std::bit_ceil(2 * most + 1)) {}

void TrialIdSet::insert(std::uint64_t id) {
  has_zero_ = has_zero_ || id == 0;
  std::size_t slot = id & (slots_.size() - 1);
  while (slots_[slot] != 0 && slots_[slot] != id) slot = (slot + 1) & (slots_.size() - 1);
  slots_[slot] = id;
}

bool TrialIdSet::contains(std::uint64_t id) const {
  if (id == 0) return has_zero_;
  std::size_t slot = id & (slots_.size() - 1);
  while (slots_[slot] != 0 && slots_[slot] != id) slot = (slot + 1) & (slots_.size() - 1);
  return slots_[slot] == id;
}

bool CurrentSweep::asks_for(std::uint64_t trial_id) const {
  return !trial_ids || trial_ids->contains(trial_id);
}

namespace {

sweeps::SweepSpec read_newest_text(const ResultsFile& file) {
  const RunInfo& run = file.runs.back();
  return sweeps::read_recorded_sweep(run.sweep_text, run.site_text, run.sweep_inputs);
}

}  // namespace

void SeenDevices::note(const TrialRecord& trial) {
  const std::string& type = trial.gpu_requested.empty() ? trial.gpu : trial.gpu_requested;
  if (type != last_type_ || types_.empty()) {
    types_.insert(type);
    last_type_ = type;
  }
  if (trial.pinned_to.empty() || trial.pinned_to == sweeps::kNowhere) return;
  (trial.placement == "each-node" ? hosts_ : devices_)[type].insert(trial.pinned_to);
}

void SeenDevices::note_device(const std::string& type, const std::string& host,
                              const std::string& uuid) {
  types_.insert(type);
  hosts_[type].insert(host);
  devices_[type].insert(uuid);
}

sweeps::Grid SeenDevices::grid_of(const sweeps::SweepSpec& sweep) const {
  sweeps::PinTargets targets;
  for (const auto& [type, names] : hosts_) targets.hosts[type] = {names.begin(), names.end()};
  for (const auto& [type, names] : devices_) targets.devices[type] = {names.begin(), names.end()};
  return {sweep, {types_.begin(), types_.end()}, std::move(targets)};
}

CurrentSweep read_current_sweep(const ResultsFile& file, const SeenDevices& devices,
                                bool with_ids) {
  CurrentSweep current;
  if (with_ids) current.reruns = Reruns(file.runs, nullptr);
  if (file.runs.empty() || file.runs.back().sweep_text.empty()) return current;
  try {
    const sweeps::SweepSpec sweep = read_newest_text(file);
    current.order = axis_order(sweep);
    if (!with_ids) return current;
    const sweeps::Grid grid = devices.grid_of(sweep);
    TrialIdSet ids(grid.size());
    for (std::size_t i = 0; i < grid.size(); ++i) ids.insert(grid.id(i).value);
    current.trial_ids = std::move(ids);
    current.reruns = Reruns(file.runs, &grid);
  } catch (const Error& error) {
    const std::string_view what = error.what();
    current.why_unknown = what.substr(0, what.find('\n'));
  }
  return current;
}

std::vector<AskedTrial> asked_trials(const ResultsFile& file, const SeenDevices& devices,
                                     const std::string& prefix) {
  std::vector<AskedTrial> trials;
  if (file.runs.empty() || file.runs.back().sweep_text.empty()) return trials;
  try {
    const sweeps::SweepSpec sweep = read_newest_text(file);
    const sweeps::Grid grid = devices.grid_of(sweep);
    for (std::size_t i = 0; i < grid.size(); ++i) {
      std::string id = sweeps::to_text(grid.id(i));
      if (!id.starts_with(prefix)) continue;
      sweeps::TrialSpec spec = grid.spec(i);
      std::string description = fmt::format("{} on {}, {}, batch {}", spec.model, spec.gpu,
                                            spec.precision, spec.batch_size);
      trials.push_back({std::move(id), std::move(spec), std::move(description)});
    }
  } catch (const Error&) {
    trials.clear();
  }
  return trials;
}

}  // namespace batchsweep::results
