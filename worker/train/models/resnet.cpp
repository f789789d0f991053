// SPDX-License-Identifier: Apache-2.0
// Residual networks (He et al., 2015) with torchvision's architecture, names and initialisation:
// stem of stride 2, ReLU in place.
#include <ATen/ATen.h>

#include <array>
#include <optional>
#include <vector>

#include "worker/train/layers.hpp"
#include "worker/train/models/registry.hpp"

namespace batchsweep::train {
namespace {

constexpr auto kWeight = Initial::kKaimingNormalOut;
constexpr auto kNoBias = Convolution::Bias::kNone;

// Two 3x3 convolutions around a shortcut; where the shape changes, the shortcut is a 1x1
// convolution.
class BasicBlock {
 public:
  BasicBlock(Parameters& parameters, const std::string& name, std::int64_t in, std::int64_t out,
             std::int64_t stride)
      : conv1_(parameters, name + ".conv1",
               {.in = in, .out = out, .kernel = 3, .stride = stride, .padding = 1}, kWeight,
               kNoBias),
        bn1_(parameters, name + ".bn1", out),
        conv2_(parameters, name + ".conv2", {.in = out, .out = out, .kernel = 3, .padding = 1},
               kWeight, kNoBias),
        bn2_(parameters, name + ".bn2", out) {
    if (stride == 1 && in == out) return;
    const ConvolutionShape shape{.in = in, .out = out, .stride = stride};
    shortcut_.emplace(parameters, name + ".downsample.0", shape, kWeight, kNoBias);
    shortcut_bn_.emplace(parameters, name + ".downsample.1", out);
  }

  at::Tensor operator()(const at::Tensor& input) const {
    at::Tensor x = bn1_(conv1_(input)).relu_();
    x = bn2_(conv2_(x));
    x += shortcut_ ? (*shortcut_bn_)((*shortcut_)(input)) : input;
    return x.relu_();
  }

 private:
  Convolution conv1_;
  BatchNorm bn1_;
  Convolution conv2_;
  BatchNorm bn2_;
  std::optional<Convolution> shortcut_;
  std::optional<BatchNorm> shortcut_bn_;
};

using BlocksPerLayer = std::array<std::int64_t, 4>;

class ResNet final : public Model {
 public:
  ResNet(const BlocksPerLayer& blocks, std::int64_t classes, c10::Device device)
      : Model(device),
        conv1_(mutable_parameters(), "conv1",
               {.in = 3, .out = 64, .kernel = 7, .stride = 2, .padding = 3}, kWeight, kNoBias),
        bn1_(mutable_parameters(), "bn1", 64),
        blocks_(make_blocks(mutable_parameters(), blocks)),
        fc_(mutable_parameters(), "fc", 512, classes, Initial::kUniformFanIn) {}

  at::Tensor forward(const at::Tensor& input) override {
    at::Tensor x = bn1_(conv1_(input)).relu_();
    x = at::max_pool2d(x, /*kernel_size=*/3, /*stride=*/2, /*padding=*/1);
    for (const BasicBlock& block : blocks_) x = block(x);
    return fc_(at::adaptive_avg_pool2d(x, {1, 1}).flatten(1));
  }

 private:
  static std::vector<BasicBlock> make_blocks(Parameters& parameters, const BlocksPerLayer& blocks) {
    std::vector<BasicBlock> made;
    std::int64_t in = 64;
    for (std::size_t layer = 0; layer < blocks.size(); ++layer) {
      const std::int64_t out = std::int64_t{64} << layer;
      for (std::int64_t block = 0; block < blocks[layer]; ++block) {
        const std::string name = "layer" + std::to_string(layer + 1) + "." + std::to_string(block);
        made.emplace_back(parameters, name, in, out, block == 0 && layer > 0 ? 2 : 1);
        in = out;
      }
    }
    return made;
  }

  Convolution conv1_;
  BatchNorm bn1_;
  std::vector<BasicBlock> blocks_;
  Linear fc_;
};

}  // namespace

std::unique_ptr<Model> build_resnet18(const sweeps::TrialSpec& spec, c10::Device device) {
  return std::make_unique<ResNet>(BlocksPerLayer{2, 2, 2, 2}, *spec.num_classes, device);
}

}  // namespace batchsweep::train
