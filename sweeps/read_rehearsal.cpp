// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <charconv>

#include "sweeps/read_sections.hpp"

namespace batchsweep::sweeps {
namespace {

constexpr auto kModes = std::to_array<std::string_view>({"process", "simulated"});

void read_memory(TableReader& rule_table, RehearsalRule& rule) {
  auto table = rule_table.table("memory");
  if (!table) return;
  const auto bytes = [&](const char* name) {
    return static_cast<double>(table->bytes(name).value_or(0));
  };
  rule.memory_fixed_bytes = bytes("fixed");
  rule.memory_per_sample_bytes = bytes("per_sample");
  rule.memory_steps_bytes = bytes("steps");
  rule.memory_noise = table->number("noise", 0, 1).value_or(0);
  rule.reserved_factor = table->number("reserved_factor", 1, 100).value_or(1);
  if (const TomlNode* except = table->find("except")) {
    if (except->kind != TomlNode::Kind::kArray) {
      table->findings().add(
          except->place, table->key("except"),
          fmt::format("expected a list of batch sizes, found {}", describe(*except)));
    }
    for (const TomlNode& item : except->items) {
      if (const auto batch =
              read_integer(item, table->key("except"), 1, 2147483647, table->findings())) {
        rule.memory_except.push_back(*batch);
      }
    }
  }
  table->refuse_unknown_keys();
}

bool is_series(const std::string& text) {
  for (const char* word : {"iid", "drift", "bimodal", "spikes"}) {
    if (text == word) return true;
  }
  if (!text.starts_with("ar1:")) return false;
  double phi = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data() + 4, end, phi);
  return error == std::errc{} && rest == end && phi > -1 && phi < 1;
}

void read_step(TableReader& rule_table, RehearsalRule& rule) {
  auto table = rule_table.table("step");
  if (!table) return;
  rule.step_fixed_s = table->seconds("fixed").value_or(0);
  rule.step_per_sample_s = table->seconds("per_sample").value_or(0);
  rule.step_noise = table->number("noise", 0, 1).value_or(0);
  if (const auto series = table->name("series")) {
    rule.step_series = *series;
    if (!is_series(*series)) {
      table->findings().add(
          table->node().find("series")->place, table->key("series"),
          fmt::format(
              "expected iid, drift, bimodal, spikes or ar1:0.9 (between -1 and 1), found \"{}\"",
              *series));
    }
  }
  table->refuse_unknown_keys();
}

std::vector<std::string> fault_words() {
  std::vector<std::string> words;
  for (const auto& entry : enum_names(Fault{}))
    words.emplace_back(entry.value == Fault::kExit ? "exit:3" : entry.name);
  return words;
}

void read_fault_word(TableReader& table, RehearsalRule& rule) {
  const auto text = table.name("fault");
  if (!text) return;
  const std::size_t colon = text->find(':');
  const auto fault = from_text<Fault>(text->substr(0, colon));
  std::optional<std::int64_t> code;
  if (colon != std::string::npos) code = whole_number(text->substr(colon + 1));
  const bool is_exit = fault == Fault::kExit;
  const bool good = fault && is_exit == (colon != std::string::npos) &&
                    (!is_exit || (code && *code >= 1 && *code <= 255));
  if (!good) {
    table.findings().add(
        table.node().find("fault")->place, table.key("fault"),
        fmt::format("expected one of {}, found \"{}\"{}", fmt::join(fault_words(), ", "), *text,
                    did_you_mean(*text, fault_words())));
    return;
  }
  rule.fault = *fault;
  rule.fault_exit_code = static_cast<int>(code.value_or(0));
}

void read_fault(TableReader& table, RehearsalRule& rule) {
  read_fault_word(table, rule);
  rule.fault_rank = table.integer("fault_rank", 0, 65535).value_or(0);
  rule.fault_step = table.integer("fault_step", 1, 1e9).value_or(2);
  rule.fault_attempts = table.integer("fault_attempts", 1, 1000);
  rule.fault_probability = table.number("fault_probability", 0, 1).value_or(1);
  if (rule.fault != Fault::kNone || table.node().find("fault") != nullptr) return;
  for (const char* name : {"fault_rank", "fault_step", "fault_attempts", "fault_probability"}) {
    const TomlNode* node = table.node().find(name);
    if (node != nullptr)
      table.findings().add(node->place, table.key(name), "means nothing without fault");
  }
}

// What is hashed: all that changes what is played, defaults left out; not `when`, which only says
// where.
std::string canonical(const RehearsalRule& rule) {
  static const RehearsalRule defaults;
  std::string text;
  const auto add = [&](const char* name, const auto& value, const auto& by_default) {
    if (value != by_default) text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
  };
  add("memory_fixed", rule.memory_fixed_bytes, defaults.memory_fixed_bytes);
  add("memory_per_sample", rule.memory_per_sample_bytes, defaults.memory_per_sample_bytes);
  add("memory_noise", rule.memory_noise, defaults.memory_noise);
  add("memory_steps", rule.memory_steps_bytes, defaults.memory_steps_bytes);
  add("memory_except", fmt::format("{}", fmt::join(rule.memory_except, ",")), std::string());
  add("reserved_factor", rule.reserved_factor, defaults.reserved_factor);
  add("step_fixed", rule.step_fixed_s, defaults.step_fixed_s);
  add("step_per_sample", rule.step_per_sample_s, defaults.step_per_sample_s);
  add("step_noise", rule.step_noise, defaults.step_noise);
  add("step_series", rule.step_series, defaults.step_series);
  if (rule.fault == Fault::kNone) return text;
  add("fault", std::string(to_text(rule.fault)), std::string());
  add("fault_exit_code", rule.fault_exit_code, defaults.fault_exit_code);
  add("fault_rank", rule.fault_rank, defaults.fault_rank);
  add("fault_step", rule.fault_step, defaults.fault_step);
  add("fault_attempts", rule.fault_attempts.value_or(0), std::int64_t{0});
  add("fault_probability", rule.fault_probability, defaults.fault_probability);
  return text;
}

RehearsalNode read_node(TableReader table, std::vector<Placed>& device_names) {
  RehearsalNode node;
  if (auto devices = table.table("devices")) {
    for (const TomlMember& member : devices->node().members) {
      if (const auto count = devices->integer(member.key, 1, 4096))
        node.devices.emplace(member.key, *count);
      device_names.push_back({member.key_place, devices->key(member.key), member.key});
    }
    if (node.devices.empty())
      table.findings().add(devices->place(), table.key("devices"),
                           "a node without devices plays nothing");
  } else if (table.node().find("devices") == nullptr) {
    table.missing("devices", "such as { small = 4 }");
  }
  node.count = table.integer("count", 1, 65536).value_or(1);
  table.refuse_unknown_keys();
  return node;
}

}  // namespace

Rehearsal read_rehearsal(TableReader table, ReadContext& context, std::vector<Placed>& device_names,
                         std::vector<PlacedMatches>& placed) {
  Rehearsal rehearsal;
  rehearsal.simulated = table.word("mode", kModes).value_or("process") == "simulated";
  for (TableReader& node : table.tables("node")) {
    rehearsal.nodes.push_back(read_node(node, device_names));
    if (!rehearsal.simulated) {
      context.findings.add(node.place(), table.key("node"),
                           "only with mode = \"simulated\": processes run on the hosts there are");
    }
  }
  for (TableReader& rule_table : table.tables("rule")) {
    RehearsalRule rule;
    if (auto when = rule_table.table("when")) {
      placed.push_back(read_matches(*when, context));
      rule.when = placed.back().lines;
    }
    read_memory(rule_table, rule);
    read_step(rule_table, rule);
    read_fault(rule_table, rule);
    rule_table.refuse_unknown_keys();
    rule.text = canonical(rule);
    rehearsal.rules.push_back(std::move(rule));
  }
  if (rehearsal.rules.empty())
    table.missing("rule", "what the trials shall play, as [[rehearsal.rule]]");
  table.refuse_unknown_keys();
  return rehearsal;
}

}  // namespace batchsweep::sweeps
