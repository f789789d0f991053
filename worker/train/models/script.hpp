// SPDX-License-Identifier: Apache-2.0
// A model from a TorchScript file, trained as the built-in ones are: forward(x) gives class scores.
#pragma once

#include <memory>

#include "sweeps/trial_spec.hpp"
#include "worker/train/models/model.hpp"

namespace batchsweep::train {

inline constexpr std::string_view kScriptPrefix = "script:";

// `spec.model_source` is "script:FILE". Throws TrialFailed for a file that is no TorchScript or has
// nothing to train.
[[nodiscard]] std::unique_ptr<Model> load_script(const sweeps::TrialSpec& spec,
                                                 const ModelOptions& options);

}  // namespace batchsweep::train
