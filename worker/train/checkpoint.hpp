// SPDX-License-Identifier: Apache-2.0
// Activation checkpointing (Chen et al., 2016): where the trial asks for it, a block's inner
// activations are dropped after forward and computed again when backward needs them.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <utility>
#include <vector>

#include "worker/train/parameters.hpp"

namespace batchsweep::train {

using Block = std::function<at::Tensor(const std::vector<at::Tensor>&)>;

// block(inputs), keeping the inputs alone. The second run sees the same random numbers and the same
// autocast as the first. The block must not change its inputs.
[[nodiscard]] at::Tensor recomputed(std::vector<at::Tensor> inputs, Block block);

// True inside a second run: statistics that the first one updated stay as they are.
[[nodiscard]] bool recomputing();

// layer(inputs...) of a model with these parameters. The layer outlives the backward pass: it is a
// part of the model.
template <class Layer, class... Inputs>
[[nodiscard]] at::Tensor run_block(const Parameters& parameters, const Layer& layer,
                                   const Inputs&... inputs) {
  if (!parameters.options().checkpointing) return layer(inputs...);
  return recomputed({inputs...}, [&layer](const std::vector<at::Tensor>& again) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) { return layer(again[I]...); }
    (std::index_sequence_for<Inputs...>());
  });
}

}  // namespace batchsweep::train
