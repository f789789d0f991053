// SPDX-License-Identifier: Apache-2.0
#include "sweeps/validate_places.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sweeps/grid.hpp"
#include "sweeps/rehearsal.hpp"
#include "sweeps/sweep_file.hpp"

namespace batchsweep::sweeps {
namespace {

const PlacedAxis* find_axis_of(const PlacedSweep& placed, const PlacedBlock& block,
                               std::string_view name) {
  for (const std::vector<PlacedAxis>* axes : {&block.axes, &placed.trial}) {
    for (const PlacedAxis& axis : *axes) {
      if (axis.axis->name == name) return &axis;
    }
  }
  return nullptr;
}

std::vector<AxisValue> values_of(const PlacedAxis* axis, const AxisValue& otherwise) {
  return axis == nullptr ? std::vector<AxisValue>{otherwise} : axis->values;
}

// Is the point dropped by an [[exclude]] that looks at these axes only?
bool is_excused(const SweepSpec& sweep, const TrialSpec& spec) {
  const auto looks_at_places = [](const AxisMatch& line) {
    return line.axis == "world_size" || line.axis == "num_nodes" || line.axis == "placement";
  };
  return std::any_of(sweep.excludes.begin(), sweep.excludes.end(), [&](const auto& lines) {
    return !lines.empty() && std::all_of(lines.begin(), lines.end(), looks_at_places) &&
           matches(spec, lines);
  });
}

// Devices of a type on each declared node, most first; nullopt: it depends on the hosts that are
// there.
std::optional<std::vector<std::int64_t>> declared_nodes(const SweepSpec& sweep,
                                                        const std::string& type) {
  if (!sweep.rehearsal || !sweep.rehearsal->simulated) return std::nullopt;
  std::vector<std::int64_t> nodes;
  for (const RehearsalNode& node : sweep.rehearsal->nodes) {
    const auto it = node.devices.find(type);
    if (it == node.devices.end()) continue;
    nodes.insert(nodes.end(), static_cast<std::size_t>(node.count), it->second);
  }
  if (sweep.rehearsal->nodes.empty()) {
    std::int64_t devices = 0;
    for (const DeclaredDevice& device : sweep.devices)
      devices += device.name == type ? device.count : 0;
    nodes.push_back(devices);
  }
  std::sort(nodes.begin(), nodes.end(), std::greater<>());
  return nodes;
}

// What is wrong with these three together, whatever devices there are.
struct Problem {
  std::string_view axis;
  std::string message;
};
std::optional<Problem> contradiction(const TrialSpec& spec) {
  const std::optional<std::int64_t> nodes = whole_number(spec.num_nodes);
  if (nodes && spec.world_size % *nodes != 0)
    return Problem{"num_nodes",
                   fmt::format("world_size {} does not divide by num_nodes {}: each node takes "
                               "equally many ranks; choose another or [[exclude]] it",
                               spec.world_size, *nodes)};
  if (spec.placement == "each-device" && spec.world_size > 1)
    return Problem{"placement",
                   fmt::format("\"each-device\" pins a trial to one device, but "
                               "world_size is {}: use \"each-node\", or [[exclude]] it",
                               spec.world_size)};
  if (spec.placement == "each-node" && nodes.value_or(1) > 1)
    return Problem{"placement", fmt::format("\"each-node\" pins a trial to one node, but num_nodes "
                                            "is {}: [[exclude]] it",
                                            *nodes)};
  return std::nullopt;
}

void check_contradictions(const SweepSpec& sweep, const PlacedSweep& placed,
                          const PlacedBlock& block, Findings& findings) {
  const PlacedAxis* worlds = find_axis_of(placed, block, "world_size");
  const PlacedAxis* nodes = find_axis_of(placed, block, "num_nodes");
  const PlacedAxis* placements = find_axis_of(placed, block, "placement");
  if (nodes == nullptr && placements == nullptr) return;
  TrialSpec spec = sweep.base;
  for (const AxisValue& world : values_of(worlds, "1")) {
    for (const AxisValue& node : values_of(nodes, "min")) {
      for (const AxisValue& placement : values_of(placements, "any")) {
        spec.world_size = whole_number(world).value_or(1);
        spec.num_nodes = node;
        spec.placement = placement;
        const std::optional<Problem> problem = contradiction(spec);
        if (!problem || is_excused(sweep, spec)) continue;
        const PlacedAxis* axis = problem->axis == "num_nodes" ? nodes : placements;
        findings.add(axis->place, axis->key, problem->message);
      }
    }
  }
}

// So many ranks, on so many nodes where that was asked.
bool could_hold(const std::vector<std::int64_t>& nodes, std::int64_t ranks,
                const std::optional<std::int64_t>& num_nodes) {
  if (!num_nodes) {
    std::int64_t all = 0;
    for (const std::int64_t node : nodes) all += node;
    return all >= ranks;
  }
  const auto last = static_cast<std::size_t>(*num_nodes - 1);
  return last < nodes.size() && nodes[last] >= (ranks + *num_nodes - 1) / *num_nodes;
}

void check_sizes(const SweepSpec& sweep, const PlacedSweep& placed, const PlacedBlock& block,
                 Findings& findings) {
  const PlacedAxis* gpus = find_axis_of(placed, block, "gpu");
  std::vector<std::string> types = declared_types(sweep);
  if (gpus != nullptr &&
      std::find(gpus->values.begin(), gpus->values.end(), "all") == gpus->values.end())
    types = gpus->values;
  const PlacedAxis* worlds = find_axis_of(placed, block, "world_size");
  const PlacedAxis* nodes = find_axis_of(placed, block, "num_nodes");
  if (types.empty() || (worlds == nullptr && nodes == nullptr)) return;
  std::vector<std::vector<std::int64_t>> declared;
  for (const std::string& type : types) {
    const auto of_type = declared_nodes(sweep, type);
    if (!of_type) return;
    declared.push_back(*of_type);
  }
  std::int64_t most = 0;
  for (const auto& of_type : declared) {
    std::int64_t all = 0;
    for (const std::int64_t node : of_type) all += node;
    most = std::max(most, all);
  }
  for (const AxisValue& world : values_of(worlds, "1")) {
    for (const AxisValue& node : values_of(nodes, "min")) {
      const std::int64_t ranks = whole_number(world).value_or(1);
      const std::optional<std::int64_t> num_nodes = whole_number(node);
      TrialSpec spec = sweep.base;
      spec.world_size = ranks;
      spec.num_nodes = node;
      const auto holds = [&](const auto& of_type) { return could_hold(of_type, ranks, num_nodes); };
      if (std::any_of(declared.begin(), declared.end(), holds) || is_excused(sweep, spec)) continue;
      if (ranks > most && worlds != nullptr) {
        findings.add(worlds->place, worlds->key,
                     fmt::format("no declared node could hold {} ranks: at most {} devices of one "
                                 "type are declared",
                                 world, most));
      } else if (nodes != nullptr) {
        findings.add(
            nodes->place, nodes->key,
            fmt::format("no {} declared nodes could hold {} ranks of one type", node, world));
      }
    }
  }
}

}  // namespace

void check_places(const SweepSpec& sweep, const PlacedSweep& placed, const PlacedBlock& block,
                  Findings& findings) {
  check_contradictions(sweep, placed, block, findings);
  check_sizes(sweep, placed, block, findings);
}

}  // namespace batchsweep::sweeps
