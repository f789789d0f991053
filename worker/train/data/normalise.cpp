// SPDX-License-Identifier: Apache-2.0
#include "worker/train/data/normalise.hpp"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <cstring>

namespace batchsweep::train {
namespace {

constexpr std::array kMean{0.485, 0.456, 0.406}, kDeviation{0.229, 0.224, 0.225};
constexpr std::array kLight{0.299, 0.587, 0.114};

at::Tensor by_channel(double red, double green, double blue, c10::Device device) {
  return at::tensor({red, green, blue}, at::kDouble).to(device, at::kFloat).view({3, 1, 1});
}

}  // namespace

Normaliser::Normaliser(c10::Device device)
    : scale_(by_channel(1 / kDeviation[0] / 255, 1 / kDeviation[1] / 255, 1 / kDeviation[2] / 255,
                        device)),
      offset_(by_channel(kMean[0] / kDeviation[0], kMean[1] / kDeviation[1],
                         kMean[2] / kDeviation[2], device)),
      light_(by_channel(kLight[0], kLight[1], kLight[2], device)) {
  const at::Tensor values =
      (at::arange(256, at::kFloat) * scale_.cpu() - offset_.cpu()).contiguous();
  std::memcpy(&table_, values.const_data_ptr<float>(), sizeof table_);
}

at::Tensor Normaliser::operator()(const at::Tensor& pixels, at::MemoryFormat format) const {
  if (pixels.is_cpu()) return look_up(pixels, format);
  // The layout first, while a pixel is three bytes; each channel is then one run of numbers.
  return pixels.permute({0, 3, 1, 2}).contiguous(format).to(at::kFloat).mul_(scale_).sub_(offset_);
}

// One pass over the memory, where arithmetic on tensors takes four.
at::Tensor Normaliser::look_up(const at::Tensor& pixels, at::MemoryFormat format) const {
  const std::int64_t count = pixels.size(0), area = pixels.size(1) * pixels.size(2);
  const auto options = at::TensorOptions(at::kFloat).memory_format(format);
  at::Tensor images = at::empty({count, 3, pixels.size(1), pixels.size(2)}, options);
  const bool planes = format == at::MemoryFormat::Contiguous;
  const std::int64_t channel = planes ? area : 1, pixel = planes ? 1 : 3;
  const std::uint8_t* bytes = pixels.const_data_ptr<std::uint8_t>();
  auto* numbers = images.data_ptr<float>();
  at::parallel_for(0, count, 1, [&](std::int64_t from, std::int64_t to) {
    for (std::int64_t n = from; n < to; ++n) {
      const std::uint8_t* in = bytes + n * 3 * area;
      float* out = numbers + n * 3 * area;
      for (std::int64_t i = 0; i < area; ++i, in += 3, out += pixel) {
        out[0] = table_[0][in[0]];
        out[channel] = table_[1][in[1]];
        out[2 * channel] = table_[2][in[2]];
      }
    }
  });
  return images;
}

at::Tensor Normaliser::grey(const at::Tensor& images) const {
  return at::mul(images, light_).sum(1, /*keepdim=*/true);
}

}  // namespace batchsweep::train
