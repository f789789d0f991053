// SPDX-License-Identifier: Apache-2.0
#include "sweeps/trial_spec_json.hpp"

namespace batchsweep::sweeps {
namespace {

// The members that travel, once: `visit(name, member pointer)` for each.
template <class Visit>
void for_each_member(const Visit& visit) {
  visit("gpu", &TrialSpec::gpu);
  visit("model", &TrialSpec::model);
  visit("precision", &TrialSpec::precision);
  visit("batch_size", &TrialSpec::batch_size);
  visit("world_size", &TrialSpec::world_size);
  visit("gradient_accumulation_steps", &TrialSpec::gradient_accumulation_steps);
  visit("num_nodes", &TrialSpec::num_nodes);
  visit("placement", &TrialSpec::placement);
  visit("pinned_to", &TrialSpec::pinned_to);
  visit("model_source", &TrialSpec::model_source);
  visit("model_head", &TrialSpec::model_head);
  visit("model_weights", &TrialSpec::model_weights);
  visit("partial_weights", &TrialSpec::partial_weights);
  visit("loss", &TrialSpec::loss);
  visit("input_shape", &TrialSpec::input_shape);
  visit("input_dtype", &TrialSpec::input_dtype);
  visit("input_vocabulary", &TrialSpec::input_vocabulary);
  visit("data", &TrialSpec::data);
  visit("data_hash", &TrialSpec::data_hash);
  visit("image_height", &TrialSpec::image_height);
  visit("image_width", &TrialSpec::image_width);
  visit("num_classes", &TrialSpec::num_classes);
  visit("sequence_length", &TrialSpec::sequence_length);
  visit("dropout", &TrialSpec::dropout);
  visit("optimizer", &TrialSpec::optimizer);
  visit("learning_rate", &TrialSpec::learning_rate);
  visit("momentum", &TrialSpec::momentum);
  visit("weight_decay", &TrialSpec::weight_decay);
  visit("schedule", &TrialSpec::schedule);
  visit("clip_grad_norm", &TrialSpec::clip_grad_norm);
  visit("memory_format", &TrialSpec::memory_format);
  visit("activation_checkpointing", &TrialSpec::activation_checkpointing);
  visit("cudnn_benchmark", &TrialSpec::cudnn_benchmark);
  visit("attention", &TrialSpec::attention);
  visit("warmup_steps", &TrialSpec::warmup_steps);
  visit("timed_steps", &TrialSpec::timed_steps);
  visit("min_time_s", &TrialSpec::min_time_s);
  visit("seed", &TrialSpec::seed);
  visit("runtime", &TrialSpec::runtime);
  visit("env", &TrialSpec::env);
}

template <class T>
Json value_to_json(const T& value) {
  return value;
}
template <class T>
Json value_to_json(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

template <class T>
void value_from_json(const Json& json, T& value) {
  value = json.get<T>();
}
template <class T>
void value_from_json(const Json& json, std::optional<T>& value) {
  if (!json.is_null()) value = json.get<T>();
}

}  // namespace

Json to_json(const TrialSpec& spec) {
  static const TrialSpec defaults;
  Json json = Json::object();
  if (spec.origin != defaults.origin) json["origin"] = to_text(spec.origin);
  for_each_member([&](const char* name, auto member) {
    if (spec.*member != defaults.*member) json[name] = value_to_json(spec.*member);
  });
  return json;
}

TrialSpec trial_spec_from_json(const Json& json) {
  TrialSpec spec;
  if (const auto origin = get_optional<std::string>(json, "origin")) {
    spec.origin = from_text<Origin>(*origin).value_or(spec.origin);
  }
  for_each_member([&](const char* name, auto member) {
    if (const auto it = json.find(name); it != json.end()) value_from_json(*it, spec.*member);
  });
  return spec;
}

}  // namespace batchsweep::sweeps
