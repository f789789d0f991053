// SPDX-License-Identifier: Apache-2.0
#include "worker/train/checkpoint.hpp"

namespace batchsweep::train {

at::Tensor recomputed(std::vector<at::Tensor> inputs, Block block) { return block(inputs); }

}  // namespace batchsweep::train
