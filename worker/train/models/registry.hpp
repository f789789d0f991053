// SPDX-License-Identifier: Apache-2.0
// The built-in models by name. A new model is one file with its builder, one line in registry.cpp
// and one in sweeps/model_table.cpp.
#pragma once

#include <memory>

#include "sweeps/trial_spec.hpp"
#include "worker/train/models/model.hpp"

namespace batchsweep::train {

// `spec` with its defaults filled in (sweeps::with_defaults). Weights are drawn from LibTorch's
// generator. Throws TrialFailed for a model that is not built in, or a shape that it cannot take.
[[nodiscard]] std::unique_ptr<Model> build_model(const sweeps::TrialSpec& spec, c10::Device device);

// What the trial's precision and training options say about the model's tensors and blocks.
[[nodiscard]] ModelOptions model_options(const sweeps::TrialSpec& spec, c10::Device device);

// The families' builders: `spec` names the model in model_source.
using BuildModel = std::unique_ptr<Model>(const sweeps::TrialSpec& spec,
                                          const ModelOptions& options);
BuildModel build_resnet, build_vgg16, build_inception_v3, build_densenet121, build_vit_b_16,
    build_vit_l_16, build_deeplabv3, build_lenet, build_bert, build_gpt2, build_transformer_big;

}  // namespace batchsweep::train
