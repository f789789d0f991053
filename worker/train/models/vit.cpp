// SPDX-License-Identifier: Apache-2.0
// Vision transformers (Dosovitskiy et al., 2020) with torchvision's architecture, names and
// initialisation: norm before each part, the class token's last state decides.
#include <ATen/ATen.h>
#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "worker/train/checkpoint.hpp"
#include "worker/train/layers.hpp"
#include "worker/train/models/registry.hpp"
#include "worker/train/trial_errors.hpp"

namespace batchsweep::train {
namespace {

constexpr double kEpsilon = 1e-6;  // of the layer norms

struct VitShape {
  std::int64_t patch, layers, heads, hidden, wide;
};

class VitLayer {
 public:
  VitLayer(Parameters& parameters, const std::string& name, const VitShape& shape, double dropout)
      : norm1_(parameters, name + ".ln_1", shape.hidden, kEpsilon),
        in_weight_(parameters.add(name + ".self_attention.in_proj_weight",
                                  {3 * shape.hidden, shape.hidden}, Initial::kXavierUniform)),
        in_bias_(parameters.add(name + ".self_attention.in_proj_bias", {3 * shape.hidden},
                                Initial::kZeros)),
        out_(parameters, name + ".self_attention.out_proj", shape.hidden, shape.hidden,
             Initial::kUniformFanIn, Initial::kZeros),
        norm2_(parameters, name + ".ln_2", shape.hidden, kEpsilon),
        wide_(parameters, name + ".mlp.0", shape.hidden, shape.wide, Initial::kXavierUniform,
              Initial::normal(1e-6)),
        narrow_(parameters, name + ".mlp.3", shape.wide, shape.hidden, Initial::kXavierUniform,
                Initial::normal(1e-6)),
        heads_(shape.heads),
        attention_dropout_(parameters, 0),
        dropout_(parameters, dropout) {}

  at::Tensor operator()(const at::Tensor& input) const {
    const auto parts = at::linear(norm1_(input), in_weight_, in_bias_).chunk(3, -1);
    const at::Tensor seen = attend(parts[0], parts[1], parts[2], heads_, attention_dropout_);
    const at::Tensor x = dropout_(out_(seen)) + input;
    return x + dropout_(narrow_(dropout_(at::gelu(wide_(norm2_(x))))));
  }

 private:
  LayerNorm norm1_;
  at::Tensor in_weight_, in_bias_;
  Linear out_;
  LayerNorm norm2_;
  Linear wide_, narrow_;
  std::int64_t heads_;
  Dropout attention_dropout_, dropout_;
};

class Vit final : public Model {
 public:
  Vit(const VitShape& shape, std::int64_t side, std::int64_t classes, double dropout,
      const ModelOptions& options)
      : Model(options),
        class_token_(
            mutable_parameters().add("class_token", {1, 1, shape.hidden}, Initial::kZeros)),
        patches_(
            mutable_parameters(), "conv_proj",
            {.in = 3, .out = shape.hidden, .kernel = shape.patch, .stride = shape.patch},
            Initial::normal(std::sqrt(1.0 / static_cast<double>(3 * shape.patch * shape.patch))),
            Initial::kZeros),
        positions_(mutable_parameters().add(
            "encoder.pos_embedding",
            {1, (side / shape.patch) * (side / shape.patch) + 1, shape.hidden},
            Initial::normal(0.02))),
        layers_(make_layers(mutable_parameters(), shape, dropout)),
        norm_(mutable_parameters(), "encoder.ln", shape.hidden, kEpsilon),
        head_(mutable_parameters(), "heads.head", shape.hidden, classes, Initial::kZeros,
              Initial::kZeros),
        dropout_(parameters(), dropout) {}

  at::Tensor forward(const Batch& batch) override {
    const at::Tensor patches = patches_(batch.input).flatten(2).transpose(1, 2);
    at::Tensor x = at::cat({class_token_.expand({batch.input.size(0), -1, -1}), patches}, 1);
    x = dropout_(x + positions_);
    for (const VitLayer& layer : layers_) x = run_block(parameters(), layer, x);
    return head_(norm_(x).select(1, 0));
  }

 private:
  static std::vector<VitLayer> make_layers(Parameters& parameters, const VitShape& shape,
                                           double dropout) {
    std::vector<VitLayer> layers;
    for (std::int64_t i = 0; i < shape.layers; ++i) {
      layers.emplace_back(parameters, fmt::format("encoder.layers.encoder_layer_{}", i), shape,
                          dropout);
    }
    return layers;
  }

  at::Tensor class_token_;
  Convolution patches_;
  at::Tensor positions_;
  std::vector<VitLayer> layers_;
  LayerNorm norm_;
  Linear head_;
  Dropout dropout_;
};

std::unique_ptr<Model> build(const VitShape& shape, const sweeps::TrialSpec& spec,
                             const ModelOptions& options) {
  if (*spec.image_height != *spec.image_width || *spec.image_height % shape.patch != 0) {
    throw TrialFailed(
        fmt::format("image_size {}x{}: {} takes square images whose side divides by {}",
                    *spec.image_height, *spec.image_width, spec.model_source, shape.patch));
  }
  return std::make_unique<Vit>(shape, *spec.image_height, *spec.num_classes, *spec.dropout,
                               options);
}

}  // namespace

std::unique_ptr<Model> build_vit_b_16(const sweeps::TrialSpec& spec, const ModelOptions& options) {
  return build({.patch = 16, .layers = 12, .heads = 12, .hidden = 768, .wide = 3072}, spec,
               options);
}

std::unique_ptr<Model> build_vit_l_16(const sweeps::TrialSpec& spec, const ModelOptions& options) {
  return build({.patch = 16, .layers = 24, .heads = 16, .hidden = 1024, .wide = 4096}, spec,
               options);
}

}  // namespace batchsweep::train
