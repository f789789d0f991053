// SPDX-License-Identifier: Apache-2.0
// The "big" encoder-decoder of "Attention is all you need" (Vaswani et al., 2017), from layers that
// are named and initialised as torch.nn's: norm behind each part, one embedding for both sides and
// the output, sinusoidal positions, label smoothing.
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

constexpr std::int64_t kLayers = 6, kWidth = 1024, kHeads = 16, kWide = 4096;
constexpr double kEpsilon = 1e-5;  // of the layer norms
constexpr double kSmoothing = 0.1;
constexpr std::int64_t kBegin = 0;  // the token before a translation's first
constexpr auto kWeight = Initial::kXavierUniform;

// torch.nn.MultiheadAttention: query, key and value in one matrix.
class Attention {
 public:
  Attention(Parameters& parameters, const std::string& name, double dropout)
      : weight_(parameters.add(name + ".in_proj_weight", {3 * kWidth, kWidth}, kWeight)),
        bias_(parameters.add(name + ".in_proj_bias", {3 * kWidth}, Initial::kZeros)),
        out_(parameters, name + ".out_proj", kWidth, kWidth, kWeight, Initial::kZeros),
        dropout_(parameters, dropout) {}

  at::Tensor within(const at::Tensor& input, bool causal) const {
    const auto parts = at::linear(input, weight_, bias_).chunk(3, -1);
    return out_(attend(parts[0], parts[1], parts[2], kHeads, dropout_, causal));
  }
  at::Tensor over(const at::Tensor& input, const at::Tensor& memory) const {
    const auto project = [&](const at::Tensor& x, std::int64_t from, std::int64_t to) {
      return at::linear(x, weight_.slice(0, from * kWidth, to * kWidth),
                        bias_.slice(0, from * kWidth, to * kWidth));
    };
    const auto parts = project(memory, 1, 3).chunk(2, -1);
    return out_(attend(project(input, 0, 1), parts[0], parts[1], kHeads, dropout_));
  }

 private:
  at::Tensor weight_, bias_;
  Linear out_;
  Dropout dropout_;
};

class FeedForward {
 public:
  FeedForward(Parameters& parameters, const std::string& name, double dropout)
      : wide_(parameters, name + ".linear1", kWidth, kWide, kWeight, Initial::kUniformFanIn),
        narrow_(parameters, name + ".linear2", kWide, kWidth, kWeight, Initial::kUniformFanIn),
        dropout_(parameters, dropout) {}
  at::Tensor operator()(const at::Tensor& input) const {
    return narrow_(dropout_(at::relu(wide_(input))));
  }

 private:
  Linear wide_, narrow_;
  Dropout dropout_;
};

class EncoderLayer {
 public:
  EncoderLayer(Parameters& parameters, const std::string& name, double dropout)
      : attention_(parameters, name + ".self_attn", dropout),
        forward_(parameters, name, dropout),
        norm1_(parameters, name + ".norm1", kWidth, kEpsilon),
        norm2_(parameters, name + ".norm2", kWidth, kEpsilon),
        dropout_(parameters, dropout) {}
  at::Tensor operator()(const at::Tensor& input) const {
    const at::Tensor x = norm1_(input + dropout_(attention_.within(input, /*causal=*/false)));
    return norm2_(x + dropout_(forward_(x)));
  }

 private:
  Attention attention_;
  FeedForward forward_;
  LayerNorm norm1_, norm2_;
  Dropout dropout_;
};

class DecoderLayer {
 public:
  DecoderLayer(Parameters& parameters, const std::string& name, double dropout)
      : attention_(parameters, name + ".self_attn", dropout),
        cross_attention_(parameters, name + ".multihead_attn", dropout),
        forward_(parameters, name, dropout),
        norm1_(parameters, name + ".norm1", kWidth, kEpsilon),
        norm2_(parameters, name + ".norm2", kWidth, kEpsilon),
        norm3_(parameters, name + ".norm3", kWidth, kEpsilon),
        dropout_(parameters, dropout) {}
  at::Tensor operator()(const at::Tensor& input, const at::Tensor& memory) const {
    at::Tensor x = norm1_(input + dropout_(attention_.within(input, /*causal=*/true)));
    x = norm2_(x + dropout_(cross_attention_.over(x, memory)));
    return norm3_(x + dropout_(forward_(x)));
  }

 private:
  Attention attention_, cross_attention_;
  FeedForward forward_;
  LayerNorm norm1_, norm2_, norm3_;
  Dropout dropout_;
};

// [length, width]: sines in the even places, cosines in the odd ones.
at::Tensor positions(std::int64_t length, const ModelOptions& options) {
  const at::Tensor place = at::arange(length, at::kFloat).unsqueeze(1);
  const at::Tensor rate =
      at::exp(at::arange(0, kWidth, 2, at::kFloat) * (-std::log(10000.0) / kWidth));
  const at::Tensor angle = place * rate;
  return at::stack({angle.sin(), angle.cos()}, -1).flatten(1).to(options.device, options.type);
}

class Transformer final : public Model {
 public:
  Transformer(std::int64_t vocabulary, std::int64_t length, double dropout,
              const ModelOptions& options)
      : Model(options),
        words_(mutable_parameters().add("embedding.weight", {vocabulary, kWidth},
                                        Initial::normal(1 / std::sqrt(kWidth)))),
        positions_(positions(length, options)),
        dropout_(parameters(), dropout) {
    for (std::int64_t i = 0; i < kLayers; ++i) {
      encoder_.emplace_back(mutable_parameters(), fmt::format("encoder.layers.{}", i), dropout);
    }
    for (std::int64_t i = 0; i < kLayers; ++i) {
      decoder_.emplace_back(mutable_parameters(), fmt::format("decoder.layers.{}", i), dropout);
    }
  }

  at::Tensor forward(const Batch& batch) override {
    at::Tensor memory = embedded(batch.input);
    for (const EncoderLayer& layer : encoder_) memory = run_block(parameters(), layer, memory);
    at::Tensor x = embedded(shifted(batch.target));
    for (const DecoderLayer& layer : decoder_) x = run_block(parameters(), layer, x, memory);
    return at::linear(x, words_);
  }

  at::Tensor loss(const Batch& batch) override {
    return cross_entropy(forward(batch), batch.target, kSmoothing);
  }

 private:
  // What the decoder has seen before it says each token.
  static at::Tensor shifted(const at::Tensor& target) {
    const at::Tensor begin = at::full({target.size(0), 1}, kBegin, target.options());
    return at::cat({begin, target.slice(1, 0, target.size(1) - 1)}, 1);
  }
  at::Tensor embedded(const at::Tensor& tokens) const {
    const at::Tensor x = at::embedding(words_, tokens) * std::sqrt(static_cast<double>(kWidth));
    return dropout_(x + positions_.slice(0, 0, tokens.size(1)));
  }

  at::Tensor words_, positions_;
  Dropout dropout_;
  std::vector<EncoderLayer> encoder_;
  std::vector<DecoderLayer> decoder_;
};

}  // namespace

std::unique_ptr<Model> build_transformer_big(const sweeps::TrialSpec& spec,
                                             const ModelOptions& options) {
  const sweeps::ModelInfo& info = *sweeps::find_model(spec.model_source);
  return std::make_unique<Transformer>(info.vocabulary, *spec.sequence_length, *spec.dropout,
                                       options);
}

}  // namespace batchsweep::train
