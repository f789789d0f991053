// SPDX-License-Identifier: Apache-2.0
// LeNet-5 (LeCun et al., 1998) as it is written today: ReLU, max pooling, padded first convolution,
// so that 28 x 28 images fit.
#include <ATen/ATen.h>

#include "worker/train/checkpoint.hpp"
#include "worker/train/layers.hpp"
#include "worker/train/models/registry.hpp"

namespace batchsweep::train {
namespace {

// Side of the second pooling's output, for an image of this side.
std::int64_t features_side(std::int64_t side) { return (side / 2 - 4) / 2; }

struct Features {
  Convolution conv1, conv2;
  at::Tensor operator()(const at::Tensor& images) const {
    const at::Tensor x = at::max_pool2d(at::relu(conv1(images)), 2);
    return at::max_pool2d(at::relu(conv2(x)), 2);
  }
};

class Lenet final : public Model {
 public:
  Lenet(std::int64_t height, std::int64_t width, std::int64_t classes, const ModelOptions& options)
      : Model(options),
        features_{
            {mutable_parameters(),
             "conv1",
             {.in = 1, .out = 6, .kernel = 5, .padding = 2},
             kWeight,
             kBias},
            {mutable_parameters(), "conv2", {.in = 6, .out = 16, .kernel = 5}, kWeight, kBias}},
        fc1_(mutable_parameters(), "fc1", 16 * features_side(height) * features_side(width), 120,
             kWeight, kBias),
        fc2_(mutable_parameters(), "fc2", 120, 84, kWeight, kBias),
        fc3_(mutable_parameters(), "fc3", 84, classes, kWeight, kBias) {}

  at::Tensor forward(const Batch& batch) override {
    const at::Tensor x = run_block(parameters(), features_, batch.input).flatten(1);
    return fc3_(at::relu(fc2_(at::relu(fc1_(x)))));
  }

 private:
  static constexpr auto kWeight = Initial::kUniformFanIn;
  static constexpr auto kBias = Initial::kUniformFanIn;
  Features features_;
  Linear fc1_, fc2_, fc3_;
};

}  // namespace

std::unique_ptr<Model> build_lenet(const sweeps::TrialSpec& spec, const ModelOptions& options) {
  return std::make_unique<Lenet>(*spec.image_height, *spec.image_width, *spec.num_classes, options);
}

}  // namespace batchsweep::train
