// SPDX-License-Identifier: Apache-2.0
// DeepLabV3 (Chen et al., 2017) with torchvision's architecture, names and initialisation: a
// residual network at an eighth of the side, a pyramid of dilated convolutions, and the auxiliary
// classifier on the third stage, whose loss counts half.
#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "worker/train/models/registry.hpp"
#include "worker/train/models/resnet.hpp"

namespace batchsweep::train {
namespace {

constexpr auto kWeight = Initial::kUniformFanIn, kBias = Initial::kUniformFanIn;
constexpr std::int64_t kChannels = 256;  // of the pyramid
constexpr std::int64_t kThirdStage = 1024;
constexpr std::array<std::int64_t, 3> kDilations{12, 24, 36};
constexpr double kAuxiliary = 0.5;         // the weight of the auxiliary loss
constexpr double kAuxiliaryDropout = 0.1;  // at most

// Convolution, normalisation, ReLU.
class Unit {
 public:
  Unit(Parameters& parameters, const std::string& convolution, const std::string& norm,
       const ConvolutionShape& shape)
      : convolution_(parameters, convolution, shape, kWeight, {}),
        norm_(parameters, norm, shape.out) {}
  at::Tensor operator()(const at::Tensor& input) const {
    return norm_(convolution_(input)).relu_();
  }

 private:
  Convolution convolution_;
  BatchNorm norm_;
};

at::Tensor resized(const at::Tensor& features, at::IntArrayRef sides) {
  return at::upsample_bilinear2d(features, sides, /*align_corners=*/false);
}

// The same features seen at several distances, and as a whole.
class Pyramid {
 public:
  Pyramid(Parameters& parameters, const std::string& name, std::int64_t in) {
    units_.emplace_back(parameters, name + ".convs.0.0", name + ".convs.0.1",
                        ConvolutionShape{.in = in, .out = kChannels});
    for (std::size_t i = 0; i < kDilations.size(); ++i) {
      const std::string part = fmt::format("{}.convs.{}", name, i + 1);
      units_.emplace_back(parameters, part + ".0", part + ".1",
                          ConvolutionShape{.in = in,
                                           .out = kChannels,
                                           .kernel = 3,
                                           .padding = kDilations[i],
                                           .dilation = kDilations[i]});
    }
    units_.emplace_back(parameters, name + ".convs.4.1", name + ".convs.4.2",
                        ConvolutionShape{.in = in, .out = kChannels});
    units_.emplace_back(parameters, name + ".project.0", name + ".project.1",
                        ConvolutionShape{.in = 5 * kChannels, .out = kChannels});
  }

  at::Tensor operator()(const at::Tensor& input) const {
    std::vector<at::Tensor> seen;
    for (std::size_t i = 0; i < 4; ++i) seen.push_back(units_[i](input));
    const at::Tensor whole = units_[4](at::adaptive_avg_pool2d(input, {1, 1}));
    seen.push_back(resized(whole, input.sizes().slice(2)));
    return units_[5](at::cat(seen, 1));
  }

 private:
  std::vector<Unit> units_;
};

class DeepLab final : public Model {
 public:
  DeepLab(const ResNetShape& shape, std::int64_t classes, double dropout,
          const ModelOptions& options)
      : Model(options),
        body_(mutable_parameters(), "backbone.", shape, ResNetBody::Resolution::kEighth),
        pyramid_(mutable_parameters(), "classifier.0", shape.features()),
        unit_(mutable_parameters(), "classifier.1", "classifier.2",
              {.in = kChannels, .out = kChannels, .kernel = 3, .padding = 1}),
        scores_(mutable_parameters(), "classifier.4", {.in = kChannels, .out = classes}, kWeight,
                kBias),
        auxiliary_unit_(mutable_parameters(), "aux_classifier.0", "aux_classifier.1",
                        {.in = kThirdStage, .out = kThirdStage / 4, .kernel = 3, .padding = 1}),
        auxiliary_scores_(mutable_parameters(), "aux_classifier.4",
                          {.in = kThirdStage / 4, .out = classes}, kWeight, kBias),
        pyramid_dropout_(parameters(), dropout),
        auxiliary_dropout_(parameters(), std::min(dropout, kAuxiliaryDropout)) {}

  at::Tensor forward(const Batch& batch) override {
    return by_pixel(scores_of(body_(batch.input).fourth), batch.input);
  }

  at::Tensor loss(const Batch& batch) override {
    const ResNetBody::Features features = body_(batch.input);
    const at::Tensor scores = by_pixel(scores_of(features.fourth), batch.input);
    const at::Tensor auxiliary = by_pixel(
        auxiliary_scores_(auxiliary_dropout_(auxiliary_unit_(features.third))), batch.input);
    return cross_entropy(scores, batch.target) +
           kAuxiliary * cross_entropy(auxiliary, batch.target);
  }

 private:
  at::Tensor scores_of(const at::Tensor& features) const {
    return scores_(unit_(pyramid_dropout_(pyramid_(features))));
  }
  // For the image's own sides.
  static at::Tensor by_pixel(const at::Tensor& scores, const at::Tensor& images) {
    return resized(scores, images.sizes().slice(2));
  }

  ResNetBody body_;
  Pyramid pyramid_;
  Unit unit_;
  Convolution scores_;
  Unit auxiliary_unit_;
  Convolution auxiliary_scores_;
  Dropout pyramid_dropout_, auxiliary_dropout_;
};

}  // namespace

std::unique_ptr<Model> build_deeplabv3(const sweeps::TrialSpec& spec, const ModelOptions& options) {
  constexpr std::string_view kPrefix = "deeplabv3_";
  const ResNetShape shape = resnet_shape(spec.model_source.substr(kPrefix.size()));
  return std::make_unique<DeepLab>(shape, *spec.num_classes, *spec.dropout, options);
}

}  // namespace batchsweep::train
