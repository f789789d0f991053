// SPDX-License-Identifier: Apache-2.0
// Residual networks with torchvision's initialisation: stem of stride 2, ReLU in place.
#include "worker/train/models/resnet.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <optional>

#include "worker/train/checkpoint.hpp"
#include "worker/train/models/registry.hpp"
#include "worker/train/trial_errors.hpp"

namespace batchsweep::train {
namespace {

constexpr auto kWeight = Initial::kKaimingNormalOut;
constexpr std::optional<Initial> kNoBias;

struct BlockShape {
  std::int64_t in = 0, width = 0, stride = 1, dilation = 1;
};

// The input as it is or, where the block changes its shape, through a 1x1 convolution.
class Shortcut {
 public:
  Shortcut(Parameters& parameters, const std::string& name, std::int64_t in, std::int64_t out,
           std::int64_t stride) {
    if (stride == 1 && in == out) return;
    const ConvolutionShape shape{.in = in, .out = out, .stride = stride};
    convolution_.emplace(parameters, name + ".downsample.0", shape, kWeight, kNoBias);
    norm_.emplace(parameters, name + ".downsample.1", out);
  }
  at::Tensor operator()(const at::Tensor& input) const {
    return convolution_ ? (*norm_)((*convolution_)(input)) : input;
  }

 private:
  std::optional<Convolution> convolution_;
  std::optional<BatchNorm> norm_;
};

class BasicBlock final : public ResidualBlock {
 public:
  static constexpr std::int64_t kExpansion = 1;
  BasicBlock(Parameters& parameters, const std::string& name, const BlockShape& shape)
      : conv1_(
            parameters, name + ".conv1",
            {.in = shape.in, .out = shape.width, .kernel = 3, .stride = shape.stride, .padding = 1},
            kWeight, kNoBias),
        bn1_(parameters, name + ".bn1", shape.width),
        conv2_(parameters, name + ".conv2",
               {.in = shape.width, .out = shape.width, .kernel = 3, .padding = 1}, kWeight,
               kNoBias),
        bn2_(parameters, name + ".bn2", shape.width),
        shortcut_(parameters, name, shape.in, shape.width, shape.stride) {}

  at::Tensor operator()(const at::Tensor& input) const override {
    at::Tensor x = bn1_(conv1_(input)).relu_();
    x = bn2_(conv2_(x));
    x += shortcut_(input);
    return x.relu_();
  }

 private:
  Convolution conv1_;
  BatchNorm bn1_;
  Convolution conv2_;
  BatchNorm bn2_;
  Shortcut shortcut_;
};

// The stride is the 3x3 convolution's, as in torchvision ("ResNet v1.5").
class Bottleneck final : public ResidualBlock {
 public:
  static constexpr std::int64_t kExpansion = 4;
  Bottleneck(Parameters& parameters, const std::string& name, const BlockShape& shape)
      : conv1_(parameters, name + ".conv1", {.in = shape.in, .out = shape.width}, kWeight, kNoBias),
        bn1_(parameters, name + ".bn1", shape.width),
        conv2_(parameters, name + ".conv2",
               {.in = shape.width,
                .out = shape.width,
                .kernel = 3,
                .stride = shape.stride,
                .padding = shape.dilation,
                .dilation = shape.dilation},
               kWeight, kNoBias),
        bn2_(parameters, name + ".bn2", shape.width),
        conv3_(parameters, name + ".conv3", {.in = shape.width, .out = kExpansion * shape.width},
               kWeight, kNoBias),
        bn3_(parameters, name + ".bn3", kExpansion * shape.width),
        shortcut_(parameters, name, shape.in, kExpansion * shape.width, shape.stride) {}

  at::Tensor operator()(const at::Tensor& input) const override {
    at::Tensor x = bn1_(conv1_(input)).relu_();
    x = bn2_(conv2_(x)).relu_();
    x = bn3_(conv3_(x));
    x += shortcut_(input);
    return x.relu_();
  }

 private:
  Convolution conv1_;
  BatchNorm bn1_;
  Convolution conv2_;
  BatchNorm bn2_;
  Convolution conv3_;
  BatchNorm bn3_;
  Shortcut shortcut_;
};

class ResNet final : public Model {
 public:
  ResNet(const ResNetShape& shape, std::int64_t classes, const ModelOptions& options)
      : Model(options),
        body_(mutable_parameters(), "", shape, ResNetBody::Resolution::kThirtySecond),
        fc_(mutable_parameters(), "fc", shape.features(), classes, Initial::kUniformFanIn,
            Initial::kUniformFanIn) {}

  at::Tensor forward(const Batch& batch) override {
    return fc_(at::adaptive_avg_pool2d(body_(batch.input).fourth, {1, 1}).flatten(1));
  }

 private:
  ResNetBody body_;
  Linear fc_;
};

}  // namespace

ResNetShape resnet_shape(std::string_view name) {
  if (name == "resnet18") return {.bottleneck = false, .blocks = {2, 2, 2, 2}};
  if (name == "resnet34") return {.bottleneck = false, .blocks = {3, 4, 6, 3}};
  if (name == "resnet50") return {.bottleneck = true, .blocks = {3, 4, 6, 3}};
  if (name == "resnet101") return {.bottleneck = true, .blocks = {3, 4, 23, 3}};
  if (name == "resnet152") return {.bottleneck = true, .blocks = {3, 8, 36, 3}};
  throw TrialFailed(fmt::format("no residual network is called {}", name));
}

ResNetBody::ResNetBody(Parameters& parameters, const std::string& prefix, const ResNetShape& shape,
                       Resolution resolution)
    : parameters_(parameters),
      conv1_(parameters, prefix + "conv1",
             {.in = 3, .out = 64, .kernel = 7, .stride = 2, .padding = 3}, kWeight, kNoBias),
      bn1_(parameters, prefix + "bn1", 64) {
  std::int64_t in = 64, dilation = 1;
  for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
    const std::int64_t width = std::int64_t{64} << stage;
    const bool halves = stage > 0, dilates = resolution == Resolution::kEighth && stage > 1;
    for (std::int64_t block = 0; block < shape.blocks[stage]; ++block) {
      const std::string name = fmt::format("{}layer{}.{}", prefix, stage + 1, block);
      const BlockShape one{.in = in,
                           .width = width,
                           .stride = block == 0 && halves && !dilates ? 2 : 1,
                           .dilation = dilation};
      if (shape.bottleneck) {
        stages_[stage].push_back(std::make_unique<Bottleneck>(parameters, name, one));
        in = Bottleneck::kExpansion * width;
      } else {
        stages_[stage].push_back(std::make_unique<BasicBlock>(parameters, name, one));
        in = BasicBlock::kExpansion * width;
      }
      if (block == 0 && dilates) dilation *= 2;  // from the stage's second block on
    }
  }
}

ResNetBody::Features ResNetBody::operator()(const at::Tensor& images) const {
  at::Tensor x = bn1_(conv1_(images)).relu_();
  x = at::max_pool2d(x, /*kernel_size=*/3, /*stride=*/2, /*padding=*/1);
  Features features;
  for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
    for (const auto& block : stages_[stage]) x = run_block(parameters_, *block, x);
    if (stage == 2) features.third = x;
  }
  features.fourth = std::move(x);
  return features;
}

std::unique_ptr<Model> build_resnet(const sweeps::TrialSpec& spec, const ModelOptions& options) {
  return std::make_unique<ResNet>(resnet_shape(spec.model_source), *spec.num_classes, options);
}

}  // namespace batchsweep::train
