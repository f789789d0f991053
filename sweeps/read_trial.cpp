// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <limits>

#include "sweeps/read_sections.hpp"

namespace batchsweep::sweeps {
namespace {

constexpr auto kOrders = std::to_array<std::string_view>({"auto", "grid", "shuffled"});
constexpr auto kExclusive = std::to_array<std::string_view>({"device", "host"});
constexpr std::size_t kMaxFileNameBytes =
    200;  // room for .h5.status.json and the like below the usual 255

// The name becomes file names.
void read_sweep_name(TableReader& table, SweepSpec& sweep) {
  if (table.node().find("name") == nullptr) {
    (void)table.find("name");
    return table.missing("name", "it names the output files");
  }
  const auto name = table.name("name");
  if (!name) return;
  const Place& place = table.node().find("name")->place;
  if (name->find('/') != std::string::npos || name->front() == '.' || name->front() == '-') {
    table.findings().add(
        place, table.key("name"),
        fmt::format("\"{}\" cannot name files: no \"/\", and no \".\" or \"-\" in front", *name));
  } else if (name->size() > kMaxFileNameBytes) {
    table.findings().add(place, table.key("name"),
                         fmt::format("longer than {} bytes: it names files", kMaxFileNameBytes));
  }
  sweep.name = *name;
}

void read_limit(TableReader& table, const char* name, double& limit) {
  const auto s = table.seconds(name);
  if (s && *s <= 0) {
    table.findings().add(table.node().find(name)->place, table.key(name),
                         "a limit must be longer than 0 s");
  } else if (s) {
    limit = *s;
  }
}

// Keys of the adaptive timing rule mean nothing beside a fixed number of steps.
void read_adaptive_keys(TableReader& table) {
  (void)table.number("confidence", 0.5, 0.9999);
  (void)table.number("relative_error", 1e-6, 1);
  (void)table.integer("max_steps", 2, 1e9);
  const TomlNode* steps = table.node().find("timed_steps");
  if (steps != nullptr && steps->kind == TomlNode::Kind::kText && steps->text == "adaptive") return;
  for (const char* name : {"confidence", "relative_error", "max_steps"}) {
    const TomlNode* node = table.node().find(name);
    if (node != nullptr)
      table.findings().add(node->place, table.key(name), "only with timed_steps = \"adaptive\"");
  }
}

}  // namespace

void read_sweep_section(TableReader table, SweepSpec& sweep) {
  read_sweep_name(table, sweep);
  const double max_seed = 9.2e18;  // what TOML's 64-bit integers hold
  if (const auto seed = table.integer("seed", 0, max_seed))
    sweep.seed = static_cast<std::uint64_t>(*seed);
  if (const auto order = table.word("order", kOrders))
    sweep.order = from_text<Order>(*order).value_or(Order::kAuto);
  table.refuse_unknown_keys();
}

void read_trial_section(TableReader table, SweepSpec& sweep, ReadContext& context,
                        std::vector<PlacedAxis>& placed) {
  for (const AxisInfo& axis : axis_table()) {
    const TomlNode* node = axis.in_trial ? table.find(axis.name) : nullptr;
    if (node == nullptr) continue;
    const std::string key = table.key(axis.name);
    if (node->kind == TomlNode::Kind::kArray) {
      context.findings.add(node->place, key,
                           "expected one value, found a list: several values belong into [grid]");
    } else if (const auto value = read_axis_value(axis, *node, key, context)) {
      axis.set(sweep.base, *value);
      placed.push_back({node->place, key, &axis, {*value}});
    }
  }
  read_adaptive_keys(table);
  read_limit(table, "time_limit", sweep.limits.time_s);
  read_limit(table, "setup_limit", sweep.limits.setup_s);
  read_limit(table, "stall_limit", sweep.limits.stall_s);
  if (const auto retries = table.integer("retries", 0, 100)) sweep.limits.retries = *retries;
  if (const auto repeats = table.integer("repeats", 1, 1000)) sweep.repeats = *repeats;
  if (const auto exclusive = table.word("exclusive", kExclusive))
    sweep.exclusive_host = *exclusive == "host";
  for (const char* grid_key : {"gpu", "model", "batch_size", "global_batch_size"}) {
    const TomlNode* node = table.find(grid_key);
    if (node != nullptr)
      context.findings.add(node->place, table.key(grid_key), "belongs into [grid]");
  }
  table.refuse_unknown_keys();
}

PlacedBlock read_grid_block(TableReader table, ReadContext& context) {
  PlacedBlock block{table.place(), {}};
  for (const AxisInfo& axis : axis_table()) {
    const TomlNode* node = table.find(axis.name);
    if (node == nullptr) continue;
    const std::string key = table.key(axis.name);
    std::vector<AxisValue> values = read_axis_values(axis, *node, key, context);
    block.axes.push_back({node->place, key, &axis, std::move(values)});
  }
  const bool batch = table.node().find("batch_size") != nullptr,
             global = table.node().find("global_batch_size") != nullptr;
  if (table.node().find("model") == nullptr) table.missing("model", "which models to train");
  if (!batch && !global)
    table.missing("batch_size",
                  "samples per rank, such as [8, 16] or { from = 8, to = 512, factor = 2 }");
  if (batch && global) {
    context.findings.add(table.node().find("global_batch_size")->place,
                         table.key("global_batch_size"),
                         "stands beside batch_size: give one of the two");
  }
  table.refuse_unknown_keys();
  return block;
}

}  // namespace batchsweep::sweeps
