// SPDX-License-Identifier: Apache-2.0
// Which of LibTorch's kernels scaled_dot_product_attention uses (the trial's `attention`): a
// switch of the process. Knows nothing of models.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <string>

namespace batchsweep::train {

// "auto" leaves the choice to LibTorch; "math", "flash", "efficient" and "cudnn" leave it that one
// only. Throws Unsupported where such devices have no such kernel.
void choose_attention(const std::string& attention, c10::Device device);

// Throws Unsupported where the one kernel that is left cannot do this.
void require_attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                       double dropout, bool causal);

}  // namespace batchsweep::train
