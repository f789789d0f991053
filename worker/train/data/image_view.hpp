// SPDX-License-Identifier: Apache-2.0
// What of a picture a model sees: a random part of it in training, the middle in evaluation, as
// torchvision's transforms of its reference training choose it.
#pragma once

#include "worker/train/data/resample.hpp"
#include "worker/train/data/sample_order.hpp"

namespace batchsweep::train {

// RandomResizedCrop (8 to 100 % of the area, 3:4 to 4:3), then a mirror image half of the time.
[[nodiscard]] Resampling training_view(const PixelSize& picture, const PixelSize& size,
                                       SmallRandom& random);

// The shorter side scaled to 256/224 of `size` (of its longer side where it is not square), then
// the middle.
[[nodiscard]] Resampling evaluation_view(const PixelSize& picture, const PixelSize& size);

}  // namespace batchsweep::train
