// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>

#include "sweeps/model_table.hpp"
#include "sweeps/not_yet.hpp"
#include "sweeps/read_sections.hpp"

namespace batchsweep::sweeps {
namespace {

constexpr std::string_view kScript = "script:";
constexpr auto kHeads = std::to_array<std::string_view>({"mlm", "classify", "qa", "lm"});
constexpr auto kLosses = std::to_array<std::string_view>({"cross_entropy"});
constexpr auto kDtypes = std::to_array<std::string_view>({"float32", "int64"});
// The options that a model may fix for itself, as [trial] would for all.
constexpr auto kOptions =
    std::to_array<std::string_view>({"image_size", "num_classes", "sequence_length", "dropout"});

std::vector<std::string> built_in_names() {
  std::vector<std::string> names;
  for (const ModelInfo& model : model_table()) names.emplace_back(model.name);
  return names;
}

void read_source(TableReader& table, const std::string& name, TrialSpec& model,
                 ReadContext& context) {
  const TomlNode* node = table.node().find("source");
  const auto source = table.name("source");
  if (node == nullptr) {
    model.model_source = name;
    if (find_model(name) == nullptr && !context.rehearsal) {
      table.missing("source", "\"script:FILE\" or the name of a built-in model");
    }
  } else if (source && source->starts_with(kScript)) {
    model.model_source = *source;
    refuse_not_yet("source", *source, context.rehearsal, node->place, table.key("source"),
                   context.findings);
  } else if (source) {
    model.model_source = *source;
    if (find_model(*source) == nullptr && !context.rehearsal) {
      context.findings.add(
          node->place, table.key("source"),
          fmt::format("unknown model \"{}\"{}; batchsweep models lists those built in", *source,
                      did_you_mean(*source, built_in_names())));
    }
  }
}

void read_script_keys(TableReader& table, TrialSpec& model) {
  const bool script = model.model_source.starts_with(kScript);
  if (auto input = table.table("input")) {
    if (const TomlNode* shape = input->find("shape")) {
      const bool list = shape->kind == TomlNode::Kind::kArray && !shape->items.empty();
      if (!list)
        table.findings().add(shape->place, input->key("shape"),
                             "expected a list such as [3, 224, 224]");
      for (const TomlNode& side : shape->items)
        (void)read_integer(side, input->key("shape"), 1, 1e9, table.findings());
    } else {
      input->missing("shape", "of one sample, such as [3, 224, 224]");
    }
    (void)input->word("dtype", kDtypes);
    input->refuse_unknown_keys();
  }
  if (auto target = table.table("target")) {
    if (const auto classes = target->integer("classes", 2, 1e7)) model.num_classes = *classes;
    target->refuse_unknown_keys();
  }
  for (const char* key : {"input", "target"}) {
    const TomlNode* node = table.node().find(key);
    if (node != nullptr && !script) {
      table.findings().add(node->place, table.key(key),
                           "only for a \"script:FILE\": built-in models know their own");
    }
    if (node == nullptr && script) table.missing(key, "a script cannot tell it");
  }
}

void read_head(TableReader& table, TrialSpec& model, ReadContext& context) {
  const auto head = table.word("head", kHeads);
  if (!head) return;
  const Place& place = table.node().find("head")->place;
  const ModelInfo* info = find_model(model.model_source);
  if (info != nullptr && info->heads.empty()) {
    context.findings.add(place, table.key("head"), fmt::format("{} has one head only", info->name));
  }
  refuse_not_yet("head", *head, context.rehearsal, place, table.key("head"), context.findings);
  model.model_head = *head;
}

void read_model(TableReader table, const std::string& name, SweepSpec& sweep, ReadContext& context,
                std::vector<PlacedAxis>& placed) {
  TrialSpec model;
  model.data.clear();  // "" = as [trial] says
  read_source(table, name, model, context);
  read_script_keys(table, model);
  read_head(table, model, context);
  if (const auto loss = table.word("loss", kLosses)) model.loss = *loss;
  if (const auto weights = table.name("weights")) {
    model.model_weights = *weights;
    refuse_not_yet("weights", *weights, context.rehearsal, table.node().find("weights")->place,
                   table.key("weights"), context.findings);
  }
  if (const TomlNode* data = table.find("data")) {
    // After a finding the text stays, so that nothing else is told about the data of [trial].
    model.data =
        read_axis_value(*find_axis("data"), *data, table.key("data"), context).value_or(data->text);
  }
  for (const std::string_view option : kOptions) {
    const TomlNode* node = table.find(option);
    if (node == nullptr) continue;
    const AxisInfo& axis = *find_axis(option);
    if (const auto value = read_axis_value(axis, *node, table.key(option), context)) {
      axis.set(model, *value);
      placed.push_back({node->place, table.key(option), &axis, {*value}});
    }
  }
  table.refuse_unknown_keys();
  sweep.models.emplace(name, std::move(model));
}

}  // namespace

void read_models(TableReader table, SweepSpec& sweep, ReadContext& context,
                 std::vector<PlacedAxis>& placed) {
  for (const TomlMember& member : table.node().members) {
    const TomlNode name{.kind = TomlNode::Kind::kText,
                        .place = member.key_place,
                        .text = member.key,
                        .items = {},
                        .members = {}};
    if (!read_name(name, table.key(member.key), context.findings)) continue;
    if (auto model = table.table(member.key))
      read_model(*model, member.key, sweep, context, placed);
  }
}

}  // namespace batchsweep::sweeps
