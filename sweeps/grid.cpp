// SPDX-License-Identifier: Apache-2.0
#include "sweeps/grid.hpp"

#include <algorithm>
#include <unordered_set>

#include "base/check.hpp"
#include "base/error.hpp"
#include "sweeps/grid_walk.hpp"
#include "sweeps/trial_identity.hpp"

namespace batchsweep::sweeps {
namespace {

// The ids are hash values already.
struct AsItIs {
  std::size_t operator()(std::uint64_t value) const { return value; }
};

[[noreturn]] void refuse(const SweepSpec& sweep, const std::string& message) {
  throw ConfigError({Diagnostic{sweep.path, 0, 0, "grid", message}});
}

}  // namespace

bool asks_for_present_types(const SweepSpec& sweep) {
  const auto pins = [](const GridBlock& block) {
    return std::any_of(block.axes.begin(), block.axes.end(),
                       [](const Axis& axis) { return axis.name == "placement"; });
  };
  if (sweep.base.placement != "any" || std::any_of(sweep.grid.begin(), sweep.grid.end(), pins))
    return true;
  return std::any_of(sweep.grid.begin(), sweep.grid.end(), [](const GridBlock& block) {
    if (block.axes.empty() || block.axes.front().name != "gpu") return true;
    const std::vector<AxisValue>& gpus = block.axes.front().values;
    return std::find(gpus.begin(), gpus.end(), "all") != gpus.end();
  });
}

const std::vector<std::string>& Grid::pins_of(const TrialSpec& spec) const {
  static const std::vector<std::string> anywhere = {""}, nowhere = {std::string(kNowhere)};
  if (spec.placement == "any") return anywhere;
  const auto& by_type = spec.placement == "each-node" ? targets_.hosts : targets_.devices;
  const auto found = by_type.find(spec.gpu);
  return found == by_type.end() || found->second.empty() ? nowhere : found->second;
}

Grid::Grid(const SweepSpec& sweep, const std::vector<std::string>& present_types,
           PinTargets targets)
    : sweep_(&sweep), blocks_(resolved_blocks(sweep, present_types)), targets_(std::move(targets)) {
  if (const std::string too_many = too_many_points(blocks_); !too_many.empty())
    refuse(sweep, too_many);
  std::unordered_set<std::uint64_t, AsItIs> seen;
  const auto add = [&](std::uint32_t block, std::uint32_t pin, std::uint64_t index,
                       const TrialSpec& spec) {
    const TrialId id = trial_id(spec, sweep);
    if (!seen.insert(id.value).second) return;
    points_.push_back({block, pin, index});
    ids_.push_back(id);
  };
  walk_grid(sweep, blocks_, [&](std::uint32_t block, std::uint64_t index, const TrialSpec& spec) {
    if (spec.placement == "any") return add(block, 0, index, spec);
    TrialSpec pinned = spec;
    std::uint32_t pin = 0;
    for (const std::string& target : pins_of(spec)) {
      pinned.pinned_to = target;
      add(block, pin++, index, pinned);
    }
  });
  if (ids_.empty()) {
    if (!sweep.only.empty()) throw UsageError("--only: no trial of the sweep matches");
    if (!sweep.part.empty()) throw UsageError("--job: no trial of the sweep is this job's part");
    const bool no_device = present_types.empty() && asks_for_present_types(sweep);
    refuse(sweep, no_device ? "empty: no device is here, and the grid names none"
                            : "empty: every point is dropped by an [[exclude]]");
  }
}

void Grid::for_each(const std::function<void(std::size_t, const TrialSpec&)>& use) const {
  std::size_t next = 0;
  const auto is_next = [&](std::uint32_t block, std::uint64_t index) {
    return next < points_.size() && points_[next].block == block && points_[next].index == index;
  };
  walk_grid(*sweep_, blocks_, [&](std::uint32_t block, std::uint64_t index, const TrialSpec& spec) {
    if (!is_next(block, index)) return;
    if (spec.placement == "any") return use(next++, spec);
    TrialSpec pinned = spec;
    for (; is_next(block, index); ++next) {
      pinned.pinned_to = pins_of(spec)[points_[next].pin];
      use(next, pinned);
    }
  });
}

TrialSpec Grid::spec(std::size_t i) const {
  BATCHSWEEP_ASSERT(i < points_.size());
  TrialSpec spec = point_spec(*sweep_, blocks_[points_[i].block], points_[i].index);
  spec.pinned_to = pins_of(spec)[points_[i].pin];
  return spec;
}

}  // namespace batchsweep::sweeps
