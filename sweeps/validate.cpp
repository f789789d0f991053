// SPDX-License-Identifier: Apache-2.0
#include "sweeps/validate.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "sweeps/grid.hpp"
#include "sweeps/grid_walk.hpp"
#include "sweeps/rehearsal.hpp"
#include "sweeps/sweep_file.hpp"
#include "sweeps/validate_models.hpp"
#include "sweeps/validate_places.hpp"

namespace batchsweep::sweeps {
namespace {

void check_device_names(const SweepSpec& sweep, const PlacedSweep& placed, Findings& findings) {
  const auto check = [&](const Place& place, const std::string& key, const std::string& name) {
    const std::string problem = device_name_problem(sweep, name);
    if (!problem.empty()) findings.add(place, key, problem);
  };
  for (const PlacedBlock& block : placed.blocks) {
    for (const PlacedAxis& axis : block.axes) {
      if (axis.axis->name != "gpu") continue;
      for (const AxisValue& name : axis.values) {
        if (name != "all") check(axis.place, axis.key, name);
      }
    }
  }
  for (const Placed& name : placed.device_names) check(name.place, name.key, name.text);
}

void check_runtimes(const SweepSpec& sweep, const PlacedSweep& placed, Findings& findings) {
  std::vector<std::string> known;
  for (const Runtime& runtime : sweep.runtimes) known.push_back(runtime.name);
  const auto check = [&](const PlacedAxis& axis) {
    if (axis.axis->name != "runtime") return;
    for (const AxisValue& name : axis.values) {
      if (std::find(known.begin(), known.end(), name) != known.end()) continue;
      findings.add(axis.place, axis.key,
                   fmt::format("unknown runtime \"{}\"{}: declare it as [[runtime]]", name,
                               did_you_mean(name, known)));
    }
  };
  for (const PlacedAxis& axis : placed.trial) check(axis);
  for (const PlacedBlock& block : placed.blocks)
    std::for_each(block.axes.begin(), block.axes.end(), check);
}

const PlacedAxis* find_placed(const std::vector<PlacedAxis>& axes, std::string_view name) {
  const auto it = std::find_if(axes.begin(), axes.end(),
                               [&](const PlacedAxis& a) { return a.axis->name == name; });
  return it == axes.end() ? nullptr : &*it;
}

std::vector<std::int64_t> numbers_of(const PlacedBlock& block, std::string_view name,
                                     std::int64_t otherwise) {
  const PlacedAxis* axis = find_placed(block.axes, name);
  if (axis == nullptr) return {otherwise};
  std::vector<std::int64_t> numbers;
  for (const AxisValue& value : axis->values)
    numbers.push_back(whole_number(value).value_or(otherwise));
  return numbers;
}

// Is the point dropped by an [[exclude]] that looks at nothing else than these axes?
bool excused(const SweepSpec& sweep, const TrialSpec& spec, std::int64_t global) {
  const auto line_matches = [&](const AxisMatch& line) {
    if (line.axis == "world_size" || line.axis == "gradient_accumulation_steps")
      return matches(spec, {line});
    const bool in_range = (!line.from || global >= *line.from) &&
                          (!line.to || global <= *line.to) && (line.from || line.to);
    const auto text = fmt::format("{}", global);
    return line.axis == "global_batch_size" &&
           (in_range ||
            std::find(line.patterns.begin(), line.patterns.end(), text) != line.patterns.end());
  };
  return std::any_of(sweep.excludes.begin(), sweep.excludes.end(), [&](const auto& lines) {
    return !lines.empty() && std::all_of(lines.begin(), lines.end(), line_matches);
  });
}

void check_global_batches(const SweepSpec& sweep, const PlacedBlock& block, Findings& findings) {
  const PlacedAxis* axis = find_placed(block.axes, "global_batch_size");
  if (axis == nullptr) return;
  TrialSpec spec = sweep.base;
  for (const std::int64_t global : numbers_of(block, "global_batch_size", 1)) {
    for (const std::int64_t world : numbers_of(block, "world_size", sweep.base.world_size)) {
      for (const std::int64_t accumulation : numbers_of(block, "gradient_accumulation_steps",
                                                        sweep.base.gradient_accumulation_steps)) {
        spec.world_size = world;
        spec.gradient_accumulation_steps = accumulation;
        if (global % (world * accumulation) == 0 || excused(sweep, spec, global)) continue;
        findings.add(axis->place, axis->key,
                     fmt::format("{} does not divide by world_size {} x "
                                 "gradient_accumulation_steps {}: choose another or [[exclude]] it",
                                 global, world, accumulation));
      }
    }
  }
}

// The optimizer's state exists only after the first step: one step would tell too small a peak.
void check_steps(const SweepSpec& sweep, const PlacedSweep& placed, const PlacedBlock& block,
                 Findings& findings) {
  const auto warmups = numbers_of(block, "warmup_steps", sweep.base.warmup_steps);
  const auto timed = numbers_of(block, "timed_steps", sweep.base.timed_steps);
  if (warmups.empty() || timed.empty()) return;
  if (*std::min_element(warmups.begin(), warmups.end()) +
          *std::min_element(timed.begin(), timed.end()) >=
      2)
    return;
  const PlacedAxis* axis = find_placed(block.axes, "timed_steps");
  if (axis == nullptr) axis = find_placed(placed.trial, "timed_steps");
  if (axis == nullptr) axis = find_placed(block.axes, "warmup_steps");
  findings.add(axis == nullptr ? block.place : axis->place, axis == nullptr ? "grid" : axis->key,
               "warmup_steps + timed_steps must be at least 2: the memory of the optimizer appears "
               "with the second step");
}

void check_rehearsal(const SweepSpec& sweep, const PlacedSweep& placed, Findings& findings) {
  if (!sweep.rehearsal || sweep.rehearsal->rules.empty()) return;
  const std::vector<std::string> types = declared_types(sweep);
  if (types.empty()) {
    const auto names_types = [](const PlacedBlock& block) {
      return find_placed(block.axes, "gpu") != nullptr;
    };
    if (!std::all_of(placed.blocks.begin(), placed.blocks.end(), names_types)) {
      findings.add(
          {std::make_shared<const std::string>(sweep.path), 0, 0}, "device",
          "missing: a rehearsal plays on [[device]] entries or on cards that the grid names");
    }
  }
  const auto& rules = sweep.rehearsal->rules;
  const auto always = [](const RehearsalRule& rule) { return rule.when.empty(); };
  if (std::any_of(rules.begin(), rules.end(), always)) return;
  const std::vector<GridBlock> blocks = resolved_blocks(sweep, types);
  if (!findings.empty() || !too_many_points(blocks).empty()) return;
  std::uint64_t unmatched = 0;
  TrialSpec first;
  walk_grid(sweep, blocks, [&](std::uint32_t, std::uint64_t, const TrialSpec& spec) {
    if (matching_rule(*sweep.rehearsal, spec) != nullptr) return;
    if (unmatched++ == 0) first = spec;
  });
  if (unmatched == 0) return;
  findings.add({std::make_shared<const std::string>(sweep.path), 0, 0}, "rehearsal.rule",
               fmt::format("no rule matches {} {}, the first: gpu {}, model {}, precision {}, "
                           "batch_size {}, world_size {}",
                           unmatched, unmatched == 1 ? "trial" : "trials", first.gpu, first.model,
                           first.precision, first.batch_size, first.world_size));
}

}  // namespace

void validate(const SweepSpec& sweep, const PlacedSweep& placed, Findings& findings) {
  check_device_names(sweep, placed, findings);
  check_runtimes(sweep, placed, findings);
  check_model_names(sweep, placed, findings);
  check_model_options(sweep, placed, findings);
  for (const PlacedBlock& block : placed.blocks) {
    check_global_batches(sweep, block, findings);
    check_steps(sweep, placed, block, findings);
    check_places(sweep, placed, block, findings);
  }
  check_rehearsal(sweep, placed, findings);
}

}  // namespace batchsweep::sweeps
