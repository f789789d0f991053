// SPDX-License-Identifier: Apache-2.0
// DenseNet-121 (Huang et al., 2016) with torchvision's architecture, names and initialisation:
// every layer of a block sees the outputs of all before it.
#include <ATen/ATen.h>
#include <fmt/format.h>

#include <array>
#include <vector>

#include "worker/train/checkpoint.hpp"
#include "worker/train/layers.hpp"
#include "worker/train/models/registry.hpp"

namespace batchsweep::train {
namespace {

constexpr std::array<std::int64_t, 4> kLayers{6, 12, 24, 16};
constexpr std::int64_t kGrowth = 32, kBottleneck = 4 * kGrowth, kStem = 64;
constexpr auto kWeight = Initial::kKaimingNormalIn;

// Normalisation, ReLU, convolution: in this order throughout.
class Unit {
 public:
  Unit(Parameters& parameters, const std::string& norm, const std::string& convolution,
       const ConvolutionShape& shape)
      : norm_(parameters, norm, shape.in),
        convolution_(parameters, convolution, shape, kWeight, {}) {}
  at::Tensor operator()(const at::Tensor& input) const {
    return convolution_(norm_(input).relu_());
  }

 private:
  BatchNorm norm_;
  Convolution convolution_;
};

struct DenseLayer {
  DenseLayer(Parameters& parameters, const std::string& name, std::int64_t in)
      : narrow(parameters, name + ".norm1", name + ".conv1", {.in = in, .out = kBottleneck}),
        wide(parameters, name + ".norm2", name + ".conv2",
             {.in = kBottleneck, .out = kGrowth, .kernel = 3, .padding = 1}) {}
  Unit narrow, wide;
};

class DenseNet final : public Model {
 public:
  DenseNet(std::int64_t classes, const ModelOptions& options)
      : Model(options),
        conv0_(mutable_parameters(), "features.conv0",
               {.in = 3, .out = kStem, .kernel = 7, .stride = 2, .padding = 3}, kWeight, {}),
        norm0_(mutable_parameters(), "features.norm0", kStem),
        channels_(make_blocks()),
        norm5_(mutable_parameters(), "features.norm5", channels_),
        classifier_(mutable_parameters(), "classifier", channels_, classes, Initial::kUniformFanIn,
                    Initial::kZeros) {}

  at::Tensor forward(const Batch& batch) override {
    at::Tensor x = norm0_(conv0_(batch.input)).relu_();
    x = at::max_pool2d(x, /*kernel_size=*/3, /*stride=*/2, /*padding=*/1);
    for (std::size_t block = 0; block < blocks_.size(); ++block) {
      std::vector<at::Tensor> features{x};
      for (const DenseLayer& layer : blocks_[block]) features.push_back(run_layer(layer, features));
      x = at::cat(features, 1);
      if (block < transitions_.size()) x = at::avg_pool2d(transitions_[block](x), 2);
    }
    x = norm5_(x).relu_();
    return classifier_(at::adaptive_avg_pool2d(x, {1, 1}).flatten(1));
  }

 private:
  at::Tensor run_layer(const DenseLayer& layer, const std::vector<at::Tensor>& features) const {
    const auto run = [&layer](const std::vector<at::Tensor>& seen) {
      return layer.wide(layer.narrow(at::cat(seen, 1)));
    };
    return parameters().options().checkpointing ? recomputed(features, run) : run(features);
  }

  // Returns the channels behind the last block.
  std::int64_t make_blocks() {
    std::int64_t channels = kStem;
    for (std::size_t block = 0; block < kLayers.size(); ++block) {
      std::vector<DenseLayer>& layers = blocks_.emplace_back();
      for (std::int64_t layer = 0; layer < kLayers[block]; ++layer) {
        const std::string name =
            fmt::format("features.denseblock{}.denselayer{}", block + 1, layer + 1);
        layers.emplace_back(mutable_parameters(), name, channels);
        channels += kGrowth;
      }
      if (block + 1 == kLayers.size()) break;
      const std::string name = fmt::format("features.transition{}", block + 1);
      transitions_.emplace_back(mutable_parameters(), name + ".norm", name + ".conv",
                                ConvolutionShape{.in = channels, .out = channels / 2});
      channels /= 2;
    }
    return channels;
  }

  std::vector<std::vector<DenseLayer>> blocks_;
  std::vector<Unit> transitions_;
  Convolution conv0_;
  BatchNorm norm0_;
  std::int64_t channels_;
  BatchNorm norm5_;
  Linear classifier_;
};

}  // namespace

std::unique_ptr<Model> build_densenet121(const sweeps::TrialSpec& spec,
                                         const ModelOptions& options) {
  return std::make_unique<DenseNet>(*spec.num_classes, options);
}

}  // namespace batchsweep::train
