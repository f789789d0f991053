// SPDX-License-Identifier: Apache-2.0
// What one forward pass is given.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace batchsweep::train {

inline constexpr std::int64_t kIgnored = -100;  // a target that is not asked for

struct Batch {
  at::Tensor input;  // images [n, channels, height, width] or tokens [n, length]
  // By the task: classes [n]; classes of pixels [n, height, width]; the true token where one was
  // hidden and kIgnored elsewhere, or the next one [n, length]; begin and end of the answer [n, 2];
  // the tokens of the translation [n, length].
  at::Tensor target;
  std::int64_t samples = 0;
  std::int64_t tokens = 0;  // 0 for images
};

}  // namespace batchsweep::train
