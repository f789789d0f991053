// SPDX-License-Identifier: Apache-2.0
#include "sweeps/trial_defaults.hpp"

namespace batchsweep::sweeps {

const ModelInfo* model_of(const TrialSpec& spec) {
  return find_model(spec.model_source.empty() ? spec.model : spec.model_source);
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
  if (model != nullptr && model->domain == Domain::kText) {
    return {.optimizer = "adamw",
            .learning_rate = 1e-4,
            .momentum = 0,
            .weight_decay = 0.01,
            .image_size = std::nullopt,
            .num_classes =
                task_of(spec) == Task::kClassify ? std::optional(model->num_classes) : std::nullopt,
            .sequence_length = 128,
            .dropout = model->dropout};
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
  return spec;
}

}  // namespace batchsweep::sweeps
