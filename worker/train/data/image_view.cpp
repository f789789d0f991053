// SPDX-License-Identifier: Apache-2.0
#include "worker/train/data/image_view.hpp"

#include <algorithm>
#include <cmath>

namespace batchsweep::train {
namespace {

constexpr double kLeastArea = 0.08, kNarrowest = 3.0 / 4, kWidest = 4.0 / 3;
constexpr int kTries = 10;

int rounded(double value) { return static_cast<int>(std::nearbyint(value)); }  // half to even

int below(SmallRandom& random, int bound) {
  return static_cast<int>(random.below(static_cast<std::uint64_t>(bound)));
}

// The middle, as much of it as the ratios allow.
PixelBox middle(const PixelSize& picture) {
  const double ratio = static_cast<double>(picture.width) / picture.height;
  PixelBox box{.height = picture.height, .width = picture.width};
  if (ratio < kNarrowest) box.height = rounded(picture.width / kNarrowest);
  if (ratio > kWidest) box.width = rounded(picture.height * kWidest);
  box.top = (picture.height - box.height) / 2;
  box.left = (picture.width - box.width) / 2;
  return box;
}

PixelBox random_part(const PixelSize& picture, SmallRandom& random) {
  const double area = static_cast<double>(picture.height) * picture.width;
  const double narrowest = std::log(kNarrowest), widest = std::log(kWidest);
  for (int i = 0; i < kTries; ++i) {
    const double wanted = area * (kLeastArea + (1 - kLeastArea) * random.uniform());
    const double ratio = std::exp(narrowest + (widest - narrowest) * random.uniform());
    PixelBox box{.height = rounded(std::sqrt(wanted / ratio)),
                 .width = rounded(std::sqrt(wanted * ratio))};
    if (box.width < 1 || box.width > picture.width || box.height < 1 || box.height > picture.height)
      continue;
    box.top = below(random, picture.height - box.height + 1);
    box.left = below(random, picture.width - box.width + 1);
    return box;
  }
  return middle(picture);
}

}  // namespace

Resampling training_view(const PixelSize& picture, const PixelSize& size, SmallRandom& random) {
  const PixelBox part = random_part(picture, random);
  return {.from = part,
          .to = size,
          .window = {.top = 0, .left = 0, .height = size.height, .width = size.width},
          .mirrored = random.uniform() < 0.5};
}

Resampling evaluation_view(const PixelSize& picture, const PixelSize& size) {
  const int shorter = rounded(std::max(size.height, size.width) * 256.0 / 224);
  const auto longer = [&](int side, int other) {
    return static_cast<int>(static_cast<double>(shorter) * side / other);
  };
  const bool upright = picture.height > picture.width;
  const PixelSize to{.height = upright ? longer(picture.height, picture.width) : shorter,
                     .width = upright ? shorter : longer(picture.width, picture.height)};
  return {.from = {.top = 0, .left = 0, .height = picture.height, .width = picture.width},
          .to = to,
          .window = {.top = rounded((to.height - size.height) / 2.0),
                     .left = rounded((to.width - size.width) / 2.0),
                     .height = size.height,
                     .width = size.width}};
}

}  // namespace batchsweep::train
