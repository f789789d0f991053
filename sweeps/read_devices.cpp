// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/units.hpp"
#include "sweeps/gpu_catalogue.hpp"
#include "sweeps/read_sections.hpp"

namespace batchsweep::sweeps {

std::string unknown_card(const std::string& name) {
  const std::vector<std::string> candidates = gpu_candidates(name);
  const std::string near =
      candidates.empty() ? "" : fmt::format(", did you mean {}", fmt::join(candidates, ", "));
  return fmt::format("unknown card \"{}\"{}; see: batchsweep gpus", name, near);
}

namespace {

constexpr auto kKinds = std::to_array<std::string_view>({"cpu", "cuda"});

// "n[1-4]", "node7", "gpu[01-16]x": brackets that close and do not nest.
bool is_host_pattern(const std::string& text) {
  int depth = 0;
  for (const char c : text) {
    if (c == '[') ++depth;
    if (c == ']') --depth;
    if (depth < 0 || depth > 1) return false;
  }
  return depth == 0 && text.find("[]") == std::string::npos;
}

void read_cuda_keys(TableReader& table, DeclaredDevice& device) {
  if (const auto on = table.name("on")) device.on = *on;
  const TomlNode* on = table.node().find("on");
  if (on != nullptr && device.kind == DeviceKind::kCpu) {
    table.findings().add(on->place, table.key("on"),
                         "only for kind = \"cuda\": the real card that carries an emulated one");
  }
  if (on != nullptr && device.kind == DeviceKind::kCuda && !device.on.empty() &&
      find_gpu(device.on) == nullptr && !device.on.starts_with("NVIDIA ")) {
    table.findings().add(on->place, table.key("on"), unknown_card(device.on));
  }
}

void read_memory(TableReader& table, DeclaredDevice& device) {
  device.memory_bytes = table.bytes("memory");
  device.reserve_bytes = device.kind == DeviceKind::kCuda ? kCudaReserveBytes : 0;
  if (const auto reserve = table.bytes("reserve")) device.reserve_bytes = *reserve;
  const GpuType* card = find_gpu(device.name);
  const std::optional<std::uint64_t> memory = device.memory_bytes || card == nullptr
                                                  ? device.memory_bytes
                                                  : std::optional(card->memory_bytes);
  if (memory && *memory <= device.reserve_bytes) {
    const char* key = table.node().find("memory") != nullptr ? "memory" : "reserve";
    const TomlNode* node = table.node().find(key);
    table.findings().add(node == nullptr ? table.place() : node->place, table.key(key),
                         fmt::format("nothing is left: memory {}, reserve {}",
                                     format_bytes(static_cast<double>(*memory)),
                                     format_bytes(static_cast<double>(device.reserve_bytes))));
  }
}

DeclaredDevice read_device(TableReader& table, const ReadContext& context) {
  DeclaredDevice device;
  if (table.node().find("name") == nullptr) table.missing("name", "what the grid calls it");
  if (table.node().find("kind") == nullptr) table.missing("kind", "\"cpu\" or \"cuda\"");
  if (const auto name = table.name("name")) device.name = *name;
  if (const auto kind = table.word("kind", kKinds))
    device.kind = from_text<DeviceKind>(*kind).value_or(DeviceKind::kCpu);
  read_memory(table, device);
  device.threads = table.integer("threads", 1, 4096);
  if (const auto count = table.integer("count", 1, 4096)) device.count = *count;
  read_cuda_keys(table, device);
  if (const auto hosts = table.name("hosts")) device.hosts = *hosts;
  if (!is_host_pattern(device.hosts)) {
    table.findings().add(
        table.node().find("hosts")->place, table.key("hosts"),
        fmt::format("expected a host such as \"n1\" or \"n[1-4]\", found \"{}\"", device.hosts));
  }
  device.oversubscribe = table.boolean("oversubscribe").value_or(false);
  if (device.kind == DeviceKind::kCpu && !context.rehearsal && find_gpu(device.name) != nullptr) {
    table.findings().add(
        table.place(), table.key("name"),
        fmt::format("\"{}\" is a card of the catalogue: give a cpu device a free name",
                    device.name));
  }
  if (device.kind == DeviceKind::kCuda && device.name == "cpu") {
    table.findings().add(table.place(), table.key("name"),
                         "\"cpu\" is the name of the default cpu device");
  }
  table.refuse_unknown_keys();
  return device;
}

// The same name again, on other hosts, must be the same device: trials ask for it by name.
void check_against(const DeclaredDevice& first, const DeclaredDevice& second,
                   const TableReader& table) {
  const auto refuse = [&](const std::string& why) {
    table.findings().add(table.place(), table.key("name"),
                         fmt::format("\"{}\" is declared twice{}", second.name, why));
  };
  if (first.kind != second.kind) return refuse(", with different kinds: device names must differ");
  const bool same = first.memory_bytes == second.memory_bytes &&
                    first.reserve_bytes == second.reserve_bytes &&
                    first.threads == second.threads && first.on == second.on;
  if (!same)
    return refuse(" with different memory, reserve, threads or carrier: device names must differ");
  if (first.hosts == second.hosts) return refuse(" for the same hosts: use count");
}

}  // namespace

std::vector<std::pair<Place, DeclaredDevice>> read_devices(TableReader& document,
                                                           ReadContext& context) {
  std::vector<std::pair<Place, DeclaredDevice>> devices;
  for (TableReader& table : document.tables("device")) {
    DeclaredDevice device = read_device(table, context);
    const auto same_name = std::find_if(devices.begin(), devices.end(), [&](const auto& other) {
      return other.second.name == device.name;
    });
    if (same_name != devices.end() && !device.name.empty())
      check_against(same_name->second, device, table);
    devices.emplace_back(table.place(), std::move(device));
  }
  return devices;
}

std::vector<Runtime> read_runtimes(TableReader& document, std::vector<Placed>& gpu_names) {
  std::vector<Runtime> runtimes;
  for (TableReader& table : document.tables("runtime")) {
    Runtime runtime;
    if (table.node().find("name") == nullptr)
      table.missing("name", "what [grid] or [trial] runtime calls it");
    if (table.node().find("command") == nullptr)
      table.missing("command", "the trial program and its arguments, as a list");
    runtime.name = table.name("name").value_or("");
    runtime.command = table.names("command");
    runtime.gpus = table.names("gpu");
    const TomlNode* command = table.node().find("command");
    if (command != nullptr && command->kind == TomlNode::Kind::kArray && command->items.empty()) {
      table.findings().add(command->place, table.key("command"), "an empty list starts nothing");
    }
    for (const std::string& gpu : runtime.gpus)
      gpu_names.push_back({table.node().find("gpu")->place, table.key("gpu"), gpu});
    const auto same = [&](const Runtime& other) { return other.name == runtime.name; };
    if (!runtime.name.empty() && std::any_of(runtimes.begin(), runtimes.end(), same)) {
      table.findings().add(table.place(), table.key("name"),
                           fmt::format("\"{}\" is declared twice", runtime.name));
    }
    table.refuse_unknown_keys();
    runtimes.push_back(std::move(runtime));
  }
  return runtimes;
}

}  // namespace batchsweep::sweeps
