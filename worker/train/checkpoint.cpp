// SPDX-License-Identifier: Apache-2.0
#include "worker/train/checkpoint.hpp"

namespace batchsweep::train {

at::Tensor run_block(const Parameters& /*parameters*/, const at::Tensor& input,
                     const std::function<at::Tensor(const at::Tensor&)>& block) {
  return block(input);
}

}  // namespace batchsweep::train
