// SPDX-License-Identifier: Apache-2.0
// BERT (Devlin et al., 2018) for masked language modelling, with the architecture, names and
// initialisation of Hugging Face's BertForMaskedLM: the decoder's weight is the word embedding,
// attention is scaled_dot_product_attention.
#include <ATen/ATen.h>
#include <fmt/format.h>

#include <vector>

#include "sweeps/model_table.hpp"
#include "worker/train/layers.hpp"
#include "worker/train/models/registry.hpp"
#include "worker/train/trial_errors.hpp"

namespace batchsweep::train {
namespace {

constexpr auto kWeight = Initial::normal(0.02);
constexpr auto kBias = Initial::kZeros;
constexpr double kEpsilon = 1e-12;  // of the layer norms

struct BertShape {
  std::int64_t layers, hidden, heads, intermediate;
  std::int64_t vocabulary = 0, positions = 0;
  double dropout = 0;
};

class BertLayer {
 public:
  BertLayer(Parameters& parameters, const std::string& name, const BertShape& shape)
      : query_(parameters, name + ".attention.self.query", shape.hidden, shape.hidden, kWeight,
               kBias),
        key_(parameters, name + ".attention.self.key", shape.hidden, shape.hidden, kWeight, kBias),
        value_(parameters, name + ".attention.self.value", shape.hidden, shape.hidden, kWeight,
               kBias),
        output_(parameters, name + ".attention.output.dense", shape.hidden, shape.hidden, kWeight,
                kBias),
        output_norm_(parameters, name + ".attention.output.LayerNorm", shape.hidden, kEpsilon),
        wide_(parameters, name + ".intermediate.dense", shape.hidden, shape.intermediate, kWeight,
              kBias),
        narrow_(parameters, name + ".output.dense", shape.intermediate, shape.hidden, kWeight,
                kBias),
        narrow_norm_(parameters, name + ".output.LayerNorm", shape.hidden, kEpsilon),
        heads_(shape.heads),
        dropout_(parameters, shape.dropout) {}

  at::Tensor operator()(const at::Tensor& input) const {
    const at::Tensor attended = output_norm_(dropout_(output_(attention(input))) + input);
    return narrow_norm_(dropout_(narrow_(at::gelu(wide_(attended)))) + attended);
  }

 private:
  at::Tensor attention(const at::Tensor& input) const {
    return attend(query_(input), key_(input), value_(input), heads_, dropout_);
  }

  Linear query_, key_, value_, output_;
  LayerNorm output_norm_;
  Linear wide_, narrow_;
  LayerNorm narrow_norm_;
  std::int64_t heads_;
  Dropout dropout_;
};

class BertForMaskedLm final : public Model {
 public:
  BertForMaskedLm(const BertShape& shape, const ModelOptions& options)
      : Model(options),
        words_(embedding("word", shape.vocabulary, shape.hidden)),
        positions_(embedding("position", shape.positions, shape.hidden)),
        types_(embedding("token_type", 2, shape.hidden)),
        embedding_norm_(mutable_parameters(), "bert.embeddings.LayerNorm", shape.hidden, kEpsilon),
        layers_(make_layers(mutable_parameters(), shape)),
        decoder_bias_(
            mutable_parameters().add("cls.predictions.bias", {shape.vocabulary}, Initial::kZeros)),
        transform_(mutable_parameters(), "cls.predictions.transform.dense", shape.hidden,
                   shape.hidden, kWeight, kBias),
        transform_norm_(mutable_parameters(), "cls.predictions.transform.LayerNorm", shape.hidden,
                        kEpsilon),
        dropout_(parameters(), shape.dropout) {
    words_.detach()[0].zero_();  // the padding token's row
  }

  at::Tensor forward(const Batch& batch) override {
    const at::Tensor x = transform_norm_(at::gelu(transform_(encode(batch.input))));
    return at::linear(x, words_, decoder_bias_);
  }

 private:
  at::Tensor embedding(const std::string& what, std::int64_t rows, std::int64_t width) {
    return mutable_parameters().add("bert.embeddings." + what + "_embeddings.weight", {rows, width},
                                    kWeight);
  }

  static std::vector<BertLayer> make_layers(Parameters& parameters, const BertShape& shape) {
    std::vector<BertLayer> layers;
    for (std::int64_t i = 0; i < shape.layers; ++i) {
      layers.emplace_back(parameters, "bert.encoder.layer." + std::to_string(i), shape);
    }
    return layers;
  }

  at::Tensor encode(const at::Tensor& tokens) const {
    const at::Tensor position = at::arange(tokens.size(1), tokens.options()).unsqueeze(0);
    at::Tensor x = at::embedding(words_, tokens, /*padding_idx=*/0);
    x = x + at::embedding(types_, at::zeros_like(tokens));  // one sequence: all of type 0
    x = x + at::embedding(positions_, position);
    x = dropout_(embedding_norm_(x));
    for (const BertLayer& layer : layers_) x = layer(x);
    return x;
  }

  at::Tensor words_, positions_, types_;
  LayerNorm embedding_norm_;
  std::vector<BertLayer> layers_;
  at::Tensor decoder_bias_;
  Linear transform_;
  LayerNorm transform_norm_;
  Dropout dropout_;
};

BertShape shape_of(const std::string& name) {
  if (name == "bert-tiny") return {.layers = 2, .hidden = 128, .heads = 2, .intermediate = 512};
  if (name == "bert-base-uncased")
    return {.layers = 12, .hidden = 768, .heads = 12, .intermediate = 3072};
  return {.layers = 24, .hidden = 1024, .heads = 16, .intermediate = 4096};
}

}  // namespace

std::unique_ptr<Model> build_bert(const sweeps::TrialSpec& spec, const ModelOptions& options) {
  const sweeps::ModelInfo& info = *sweeps::find_model(spec.model_source);
  if (*spec.sequence_length > info.max_positions) {
    throw TrialFailed(fmt::format("sequence_length {} is over {}'s {} positions",
                                  *spec.sequence_length, spec.model_source, info.max_positions));
  }
  BertShape shape = shape_of(spec.model_source);
  shape.vocabulary = info.vocabulary;
  shape.positions = info.max_positions;
  shape.dropout = *spec.dropout;
  return std::make_unique<BertForMaskedLm>(shape, options);
}

}  // namespace batchsweep::train
