// SPDX-License-Identifier: Apache-2.0
// Bytes of images to numbers whose mean is 0 and whose deviation is 1 over ImageNet, as
// torchvision's reference training does it.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>

namespace batchsweep::train {

class Normaliser {
 public:
  explicit Normaliser(c10::Device device);

  // float32 [n, 3, height, width] in `format` of bytes [n, height, width, 3] on the device:
  // (byte / 255 - mean) / deviation of the channel.
  [[nodiscard]] at::Tensor operator()(const at::Tensor& pixels, at::MemoryFormat format) const;
  // float32 [n, 1, height, width]: the grey of such images, with Pillow's weights of the colours.
  [[nodiscard]] at::Tensor grey(const at::Tensor& images) const;

 private:
  [[nodiscard]] at::Tensor look_up(const at::Tensor& pixels, at::MemoryFormat format) const;

  at::Tensor scale_, offset_, light_;  // [3, 1, 1]
  using Table = std::array<std::array<float, 256>, 3>;
  Table table_;  // channel, byte
};

}  // namespace batchsweep::train
