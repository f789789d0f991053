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

// The families' builders.
[[nodiscard]] std::unique_ptr<Model> build_resnet18(const sweeps::TrialSpec& spec,
                                                    c10::Device device);
[[nodiscard]] std::unique_ptr<Model> build_lenet(const sweeps::TrialSpec& spec, c10::Device device);
[[nodiscard]] std::unique_ptr<Model> build_bert_tiny(const sweeps::TrialSpec& spec,
                                                     c10::Device device);

}  // namespace batchsweep::train
