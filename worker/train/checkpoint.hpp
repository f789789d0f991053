// SPDX-License-Identifier: Apache-2.0
// Activation checkpointing: a block's inner activations are dropped after forward and computed
// again when backward needs them (Chen et al., 2016), where the trial asks for it.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>

#include "worker/train/parameters.hpp"

namespace batchsweep::train {

// block(input); `parameters` are the model's and say whether to keep what happens inside.
[[nodiscard]] at::Tensor run_block(const Parameters& parameters, const at::Tensor& input,
                                   const std::function<at::Tensor(const at::Tensor&)>& block);

}  // namespace batchsweep::train
