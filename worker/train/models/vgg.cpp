// SPDX-License-Identifier: Apache-2.0
// VGG-16 (Simonyan and Zisserman, 2014) without batch normalisation, with torchvision's
// architecture, names and initialisation.
#include <ATen/ATen.h>

#include <array>
#include <vector>

#include "worker/train/checkpoint.hpp"
#include "worker/train/layers.hpp"
#include "worker/train/models/registry.hpp"

namespace batchsweep::train {
namespace {

// Channels of the 3x3 convolutions; 0: a pooling that halves the sides.
constexpr std::array kVgg16{64, 64,  0,   128, 128, 0,   256, 256, 256,
                            0,  512, 512, 512, 0,   512, 512, 512, 0};
constexpr std::int64_t kSide = 7, kHidden = 4096;

// Convolutions with ReLU, then the pooling.
struct Stage {
  std::vector<Convolution> convolutions;
  at::Tensor operator()(const at::Tensor& input) const {
    at::Tensor x = input;
    for (const Convolution& convolution : convolutions) x = convolution(x).relu_();
    return at::max_pool2d(x, 2);
  }
};

class Vgg final : public Model {
 public:
  Vgg(std::int64_t classes, double dropout, const ModelOptions& options)
      : Model(options),
        stages_(make_stages(mutable_parameters())),
        first_(linear("classifier.0", kVgg16[16] * kSide * kSide, kHidden)),
        second_(linear("classifier.3", kHidden, kHidden)),
        third_(linear("classifier.6", kHidden, classes)),
        dropout_(parameters(), dropout) {}

  at::Tensor forward(const Batch& batch) override {
    at::Tensor x = batch.input;
    for (const Stage& stage : stages_) x = run_block(parameters(), stage, x);
    x = at::adaptive_avg_pool2d(x, {kSide, kSide}).flatten(1);
    x = dropout_(first_(x).relu_());
    x = dropout_(second_(x).relu_());
    return third_(x);
  }

 private:
  Linear linear(const std::string& name, std::int64_t in, std::int64_t out) {
    return {mutable_parameters(), name, in, out, Initial::normal(0.01), Initial::kZeros};
  }

  static std::vector<Stage> make_stages(Parameters& parameters) {
    std::vector<Stage> stages(1);
    std::int64_t in = 3;
    std::size_t place = 0;  // in torchvision's list, where a ReLU follows each convolution
    for (const std::int64_t out : kVgg16) {
      if (out == 0) {
        stages.emplace_back();
        ++place;
        continue;
      }
      stages.back().convolutions.emplace_back(
          parameters, "features." + std::to_string(place),
          ConvolutionShape{.in = in, .out = out, .kernel = 3, .padding = 1},
          Initial::kKaimingNormalOut, Initial::kZeros);
      place += 2;
      in = out;
    }
    stages.pop_back();  // behind the last pooling
    return stages;
  }

  std::vector<Stage> stages_;
  Linear first_, second_, third_;
  Dropout dropout_;
};

}  // namespace

std::unique_ptr<Model> build_vgg16(const sweeps::TrialSpec& spec, const ModelOptions& options) {
  return std::make_unique<Vgg>(*spec.num_classes, *spec.dropout, options);
}

}  // namespace batchsweep::train
