// SPDX-License-Identifier: Apache-2.0
#include "sweeps/trial_defaults.hpp"

namespace batchsweep::sweeps {

const ModelInfo* model_of(const TrialSpec& spec) {
  return find_model(spec.model_source.empty() ? spec.model : spec.model_source);
}

std::optional<InputInfo> input_of(const TrialSpec& spec) {
  if (const ModelInfo* model = model_of(spec))
    return InputInfo{model->domain, model->channels, model->vocabulary};
  if (spec.input_shape.empty()) return std::nullopt;
  if (spec.input_dtype == "int64")
    return InputInfo{Domain::kText, 0, spec.input_vocabulary.value_or(0)};
  return InputInfo{Domain::kImage, spec.input_shape.size() == 3 ? spec.input_shape[0] : 0, 0};
}

Task task_of(const TrialSpec& spec) {
  const ModelInfo* model = model_of(spec);
  if (model == nullptr) return Task::kClassify;
  for (const Head& head : model->heads) {
    if (head.name == spec.model_head) return head.task;
  }
  return model->task;
}

TrialDefaults defaults_of(const TrialSpec& spec) {
  const ModelInfo* model = model_of(spec);
  const std::optional<InputInfo> input = input_of(spec);
  if (input && input->domain == Domain::kText) {
    const bool classes = model != nullptr && task_of(spec) == Task::kClassify;
    return {.optimizer = "adamw",
            .learning_rate = 1e-4,
            .momentum = 0,
            .weight_decay = 0.01,
            .image_size = std::nullopt,
            .num_classes = classes ? std::optional(model->num_classes) : std::nullopt,
            .sequence_length = 128,
            .dropout = model == nullptr ? std::nullopt : model->dropout};
  }
  TrialDefaults defaults{.optimizer = "sgd",
                         .learning_rate = 0.01,
                         .momentum = 0.9,
                         .weight_decay = 0,
                         .image_size = std::nullopt,
                         .num_classes = std::nullopt,
                         .sequence_length = std::nullopt,
                         .dropout = std::nullopt};
  if (model != nullptr) {
    const bool fashion = spec.data == "fashion-mnist";
    defaults.image_size = fashion ? 28 : model->image_size;
    defaults.num_classes = fashion ? 10 : model->num_classes;
    defaults.dropout = model->dropout;
  }
  return defaults;
}

namespace {

// A script takes what its `input` says, and nothing else.
void take_input_shape(TrialSpec& spec) {
  const std::vector<std::int64_t>& shape = spec.input_shape;
  if (shape.size() == 3 && spec.input_dtype != "int64") {
    spec.image_height = shape[1];
    spec.image_width = shape[2];
  } else if (shape.size() == 1 && spec.input_dtype == "int64") {
    spec.sequence_length = shape[0];
  }
}

}  // namespace

TrialSpec with_defaults(TrialSpec spec) {
  const TrialDefaults defaults = defaults_of(spec);
  const auto fill = [](auto& value, const auto& from) {
    if (!value) value = from;
  };
  fill(spec.optimizer, std::string(defaults.optimizer));
  fill(spec.learning_rate, defaults.learning_rate);
  fill(spec.momentum, defaults.momentum);
  fill(spec.weight_decay, defaults.weight_decay);
  fill(spec.image_height, defaults.image_size);
  fill(spec.image_width, defaults.image_size);
  fill(spec.num_classes, defaults.num_classes);
  fill(spec.sequence_length, defaults.sequence_length);
  fill(spec.dropout, defaults.dropout);
  take_input_shape(spec);
  return spec;
}

}  // namespace batchsweep::sweeps
