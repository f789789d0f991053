// SPDX-License-Identifier: Apache-2.0
#include "worker/train/clip_gradients.hpp"

#include <ATen/ATen.h>

namespace batchsweep::train {

at::Tensor clip_gradients(const std::vector<at::Tensor>& gradients, double largest) {
  const at::NoGradGuard no_grad;
  const at::Tensor norm = at::linalg_vector_norm(at::stack(at::_foreach_norm(gradients)));
  // Multiplying by a factor of 1 costs less than asking the device whether it is one.
  at::_foreach_mul_(gradients, (largest / (norm + 1e-6)).clamp_max(1.0));
  return norm;
}

}  // namespace batchsweep::train
