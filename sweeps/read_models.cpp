// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sweeps/model_table.hpp"
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
    const std::string file = source->substr(kScript.size());
    const auto path = read_path(file, /*folder=*/false, node->place, table.key("source"), context);
    model.model_source = std::string(kScript) + path.value_or(file);
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

void read_input_shape(TableReader& input, TrialSpec& model) {
  const TomlNode* shape = input.find("shape");
  if (shape == nullptr) return input.missing("shape", "of one sample, such as [3, 224, 224]");
  if (shape->kind != TomlNode::Kind::kArray || shape->items.empty())
    input.findings().add(shape->place, input.key("shape"), "expected a list such as [3, 224, 224]");
  for (const TomlNode& side : shape->items) {
    const auto length = read_integer(side, input.key("shape"), 1, 1e9, input.findings());
    if (length) model.input_shape.push_back(*length);
  }
}

void read_input(TableReader input, TrialSpec& model) {
  read_input_shape(input, model);
  if (const auto dtype = input.word("dtype", kDtypes)) model.input_dtype = *dtype;
  const auto vocabulary = input.integer("vocabulary", 2, 1e9);
  if (vocabulary) model.input_vocabulary = *vocabulary;
  const bool tokens = model.input_dtype == "int64";
  if (vocabulary && !tokens) {
    input.findings().add(input.node().find("vocabulary")->place, input.key("vocabulary"),
                         "only with dtype = \"int64\"");
  } else if (tokens && input.node().find("vocabulary") == nullptr) {
    input.missing("vocabulary", "how many tokens there are: an int64 input holds 0 to one less");
  }
  input.refuse_unknown_keys();
}

void read_script_keys(TableReader& table, TrialSpec& model) {
  const bool script = model.model_source.starts_with(kScript);
  if (auto input = table.table("input")) read_input(*input, model);
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
  } else if (info != nullptr) {
    std::vector<std::string_view> names;
    for (const Head& one : info->heads) names.push_back(one.name);
    if (std::ranges::find(names, *head) == names.end()) {
      context.findings.add(place, table.key("head"),
                           fmt::format("{} has the heads {}, found \"{}\"", info->name,
                                       fmt::join(names, ", "), *head));
    }
  } else if (model.model_source.starts_with(kScript)) {
    context.findings.add(place, table.key("head"), "a script has no choice of heads");
  }
  model.model_head = *head;
}

void read_weights(TableReader& table, TrialSpec& model, ReadContext& context) {
  const auto weights = table.name("weights");
  const auto partial = table.boolean("partial_weights");
  model.partial_weights = partial.value_or(false);
  if (partial && table.node().find("weights") == nullptr) {
    context.findings.add(table.node().find("partial_weights")->place, table.key("partial_weights"),
                         "only with weights");
  }
  if (!weights) return;
  const Place& place = table.node().find("weights")->place;
  const std::string key = table.key("weights");
  constexpr std::string_view kSuffix = ".safetensors";
  if (!weights->ends_with(kSuffix)) {
    context.findings.add(place, key,
                         fmt::format("expected FILE.safetensors, found \"{}\": save the weights "
                                     "with safetensors.torch.save_file(model.state_dict(), ...)",
                                     *weights));
  } else if (model.model_source.starts_with(kScript)) {
    context.findings.add(place, key, "a script brings its own weights");
  } else if (const auto path = read_path(*weights, /*folder=*/false, place, key, context)) {
    model.model_weights = *path;
  }
}

void read_model(TableReader table, const std::string& name, SweepSpec& sweep, ReadContext& context,
                std::vector<PlacedAxis>& placed) {
  TrialSpec model;
  model.data.clear();  // "" = as [trial] says
  read_source(table, name, model, context);
  read_script_keys(table, model);
  read_head(table, model, context);
  if (const auto loss = table.word("loss", kLosses)) model.loss = *loss;
  read_weights(table, model, context);
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
