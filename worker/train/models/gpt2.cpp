// SPDX-License-Identifier: Apache-2.0
// GPT-2 (Radford et al., 2019) as a language model, with the architecture, names and initialisation
// of Hugging Face's GPT2LMHeadModel: the head's weight is the word embedding.
#include <ATen/ATen.h>
#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "sweeps/model_table.hpp"
#include "worker/train/checkpoint.hpp"
#include "worker/train/layers.hpp"
#include "worker/train/models/registry.hpp"

namespace batchsweep::train {
namespace {

constexpr auto kWeight = Initial::normal(0.02);
constexpr double kEpsilon = 1e-5;  // of the layer norms

struct GptShape {
  std::int64_t layers, hidden, heads;
};

// Hugging Face keeps these weights as [in, out], so that published ones load as they are.
class Projection {
 public:
  Projection(Parameters& parameters, const std::string& name, std::int64_t in, std::int64_t out,
             Initial weight)
      : weight_(parameters.add(name + ".weight", {in, out}, weight)),
        bias_(parameters.add(name + ".bias", {out}, Initial::kZeros)) {}
  at::Tensor operator()(const at::Tensor& input) const {
    return at::linear(input, weight_.t(), bias_);
  }

 private:
  at::Tensor weight_, bias_;
};

class GptLayer {
 public:
  // What is added to the residual stream starts smaller, the deeper the network.
  GptLayer(Parameters& parameters, const std::string& name, const GptShape& shape, double dropout)
      : norm1_(parameters, name + ".ln_1", shape.hidden, kEpsilon),
        attention_(parameters, name + ".attn.c_attn", shape.hidden, 3 * shape.hidden, kWeight),
        attention_out_(parameters, name + ".attn.c_proj", shape.hidden, shape.hidden,
                       residual(shape)),
        norm2_(parameters, name + ".ln_2", shape.hidden, kEpsilon),
        wide_(parameters, name + ".mlp.c_fc", shape.hidden, 4 * shape.hidden, kWeight),
        narrow_(parameters, name + ".mlp.c_proj", 4 * shape.hidden, shape.hidden, residual(shape)),
        heads_(shape.heads),
        dropout_(parameters, dropout) {}

  at::Tensor operator()(const at::Tensor& input) const {
    const auto parts = attention_(norm1_(input)).chunk(3, -1);
    const at::Tensor seen = attend(parts[0], parts[1], parts[2], heads_, dropout_, /*causal=*/true);
    const at::Tensor x = input + dropout_(attention_out_(seen));
    return x + dropout_(narrow_(at::gelu(wide_(norm2_(x)), "tanh")));
  }

 private:
  static Initial residual(const GptShape& shape) {
    return Initial::normal(0.02 / std::sqrt(2.0 * static_cast<double>(shape.layers)));
  }

  LayerNorm norm1_;
  Projection attention_, attention_out_;
  LayerNorm norm2_;
  Projection wide_, narrow_;
  std::int64_t heads_;
  Dropout dropout_;
};

class Gpt2 final : public Model {
 public:
  Gpt2(const GptShape& shape, const sweeps::ModelInfo& info, double dropout,
       const ModelOptions& options)
      : Model(options),
        words_(mutable_parameters().add("transformer.wte.weight", {info.vocabulary, shape.hidden},
                                        kWeight)),
        positions_(mutable_parameters().add("transformer.wpe.weight",
                                            {info.max_positions, shape.hidden}, kWeight)),
        layers_(make_layers(mutable_parameters(), shape, dropout)),
        norm_(mutable_parameters(), "transformer.ln_f", shape.hidden, kEpsilon),
        dropout_(parameters(), dropout) {
    mutable_parameters().set_optional_prefix("transformer.");
    for (const char* name :
         {"lm_head.weight", "transformer.h.*.attn.bias", "transformer.h.*.attn.masked_bias"}) {
      mutable_parameters().ignore_in_files(name);
    }
  }

  at::Tensor forward(const Batch& batch) override {
    const at::Tensor& tokens = batch.input;
    const at::Tensor position = at::arange(tokens.size(1), tokens.options());
    at::Tensor x = at::embedding(words_, tokens) + at::embedding(positions_, position);
    x = dropout_(x);
    for (const GptLayer& layer : layers_) x = run_block(parameters(), layer, x);
    return at::linear(norm_(x), words_);
  }

 private:
  static std::vector<GptLayer> make_layers(Parameters& parameters, const GptShape& shape,
                                           double dropout) {
    std::vector<GptLayer> layers;
    for (std::int64_t i = 0; i < shape.layers; ++i)
      layers.emplace_back(parameters, fmt::format("transformer.h.{}", i), shape, dropout);
    return layers;
  }

  at::Tensor words_, positions_;
  std::vector<GptLayer> layers_;
  LayerNorm norm_;
  Dropout dropout_;
};

GptShape shape_of(const std::string& name) {
  if (name == "gpt2-medium") return {.layers = 24, .hidden = 1024, .heads = 16};
  if (name == "gpt2-large") return {.layers = 36, .hidden = 1280, .heads = 20};
  return {.layers = 12, .hidden = 768, .heads = 12};
}

}  // namespace

std::unique_ptr<Model> build_gpt2(const sweeps::TrialSpec& spec, const ModelOptions& options) {
  return std::make_unique<Gpt2>(shape_of(spec.model_source), *sweeps::find_model(spec.model_source),
                                *spec.dropout, options);
}

}  // namespace batchsweep::train
