// SPDX-License-Identifier: Apache-2.0
// The convolutional body of residual networks (He et al., 2015) with torchvision's architecture and
// names, for the classifiers of resnet.cpp and for what is built on top of it.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "worker/train/layers.hpp"

namespace batchsweep::train {

struct ResNetShape {
  bool bottleneck = false;  // 1x1, 3x3, 1x1 convolutions; else two 3x3
  std::array<std::int64_t, 4> blocks{};
  [[nodiscard]] std::int64_t features() const { return bottleneck ? 2048 : 512; }
};
// "resnet18" ... "resnet152"; throws TrialFailed for others.
[[nodiscard]] ResNetShape resnet_shape(std::string_view name);

class ResidualBlock {
 public:
  virtual ~ResidualBlock() = default;
  [[nodiscard]] virtual at::Tensor operator()(const at::Tensor& input) const = 0;
};

class ResNetBody {
 public:
  enum class Resolution {
    kThirtySecond,  // every stage but the first halves the sides
    kEighth,        // the last two stages dilate instead: for segmentation
  };
  // `prefix`: "" or "backbone.".
  ResNetBody(Parameters& parameters, const std::string& prefix, const ResNetShape& shape,
             Resolution resolution);

  struct Features {
    at::Tensor third, fourth;  // of those stages
  };
  [[nodiscard]] Features operator()(const at::Tensor& images) const;

 private:
  using Stage = std::vector<std::unique_ptr<ResidualBlock>>;
  const Parameters& parameters_;
  Convolution conv1_;
  BatchNorm bn1_;
  std::array<Stage, 4> stages_;
};

}  // namespace batchsweep::train
