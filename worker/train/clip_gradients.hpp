// SPDX-License-Identifier: Apache-2.0
// Clipping by the norm of all gradients together, with the arithmetic of PyTorch's
// torch.nn.utils.clip_grad_norm_. Never waits for the device.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

namespace batchsweep::train {

// Scales the gradients, in place, so that their 2-norm is at most `largest`. Returns the norm they
// had. Where it is not finite, neither are the gradients afterwards.
at::Tensor clip_gradients(const std::vector<at::Tensor>& gradients, double largest);

}  // namespace batchsweep::train
