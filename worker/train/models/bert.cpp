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

constexpr auto kWeight = Initial::kNormal002;
constexpr double kEpsilon = 1e-12;  // of the layer norms

struct BertShape {
  std::int64_t vocabulary, positions, layers, hidden, heads, intermediate;
  double dropout;
};

class BertLayer {
 public:
  BertLayer(Parameters& parameters, const std::string& name, const BertShape& shape)
      : query_(parameters, name + ".attention.self.query", shape.hidden, shape.hidden, kWeight),
        key_(parameters, name + ".attention.self.key", shape.hidden, shape.hidden, kWeight),
        value_(parameters, name + ".attention.self.value", shape.hidden, shape.hidden, kWeight),
        output_(parameters, name + ".attention.output.dense", shape.hidden, shape.hidden, kWeight),
        output_norm_(parameters, name + ".attention.output.LayerNorm", shape.hidden, kEpsilon),
        wide_(parameters, name + ".intermediate.dense", shape.hidden, shape.intermediate, kWeight),
        narrow_(parameters, name + ".output.dense", shape.intermediate, shape.hidden, kWeight),
        narrow_norm_(parameters, name + ".output.LayerNorm", shape.hidden, kEpsilon),
        heads_(shape.heads),
        dropout_(shape.dropout) {}

  at::Tensor operator()(const at::Tensor& input) const {
    const at::Tensor attended =
        output_norm_(at::dropout(output_(attention(input)), dropout_, true) + input);
    return narrow_norm_(at::dropout(narrow_(at::gelu(wide_(attended))), dropout_, true) + attended);
  }

 private:
  at::Tensor attention(const at::Tensor& input) const {
    const auto by_head = [&](const at::Tensor& x) {
      return x.view({x.size(0), x.size(1), heads_, -1}).transpose(1, 2);
    };
    const at::Tensor context =
        at::scaled_dot_product_attention(by_head(query_(input)), by_head(key_(input)),
                                         by_head(value_(input)), /*attn_mask=*/{}, dropout_);
    return context.transpose(1, 2).reshape(input.sizes());
  }

  Linear query_, key_, value_, output_;
  LayerNorm output_norm_;
  Linear wide_, narrow_;
  LayerNorm narrow_norm_;
  std::int64_t heads_;
  double dropout_;
};

class BertForMaskedLm final : public Model {
 public:
  BertForMaskedLm(const BertShape& shape, c10::Device device)
      : Model(device),
        words_(embedding("word", shape.vocabulary, shape.hidden)),
        positions_(embedding("position", shape.positions, shape.hidden)),
        types_(embedding("token_type", 2, shape.hidden)),
        embedding_norm_(mutable_parameters(), "bert.embeddings.LayerNorm", shape.hidden, kEpsilon),
        layers_(make_layers(mutable_parameters(), shape)),
        decoder_bias_(
            mutable_parameters().add("cls.predictions.bias", {shape.vocabulary}, Initial::kZeros)),
        transform_(mutable_parameters(), "cls.predictions.transform.dense", shape.hidden,
                   shape.hidden, kWeight),
        transform_norm_(mutable_parameters(), "cls.predictions.transform.LayerNorm", shape.hidden,
                        kEpsilon),
        dropout_(shape.dropout) {
    words_.detach()[0].zero_();  // the padding token's row
  }

  at::Tensor forward(const at::Tensor& tokens) override {
    const at::Tensor x = transform_norm_(at::gelu(transform_(encode(tokens))));
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
    x = at::dropout(embedding_norm_(x), dropout_, true);
    for (const BertLayer& layer : layers_) x = layer(x);
    return x;
  }

  at::Tensor words_, positions_, types_;
  LayerNorm embedding_norm_;
  std::vector<BertLayer> layers_;
  at::Tensor decoder_bias_;
  Linear transform_;
  LayerNorm transform_norm_;
  double dropout_;
};

}  // namespace

std::unique_ptr<Model> build_bert_tiny(const sweeps::TrialSpec& spec, c10::Device device) {
  const sweeps::ModelInfo& info = *sweeps::find_model("bert-tiny");
  if (*spec.sequence_length > info.max_positions) {
    throw TrialFailed(fmt::format("sequence_length {} is over bert-tiny's {} positions",
                                  *spec.sequence_length, info.max_positions));
  }
  const BertShape shape{.vocabulary = info.num_classes,
                        .positions = info.max_positions,
                        .layers = 2,
                        .hidden = 128,
                        .heads = 2,
                        .intermediate = 512,
                        .dropout = *spec.dropout};
  return std::make_unique<BertForMaskedLm>(shape, device);
}

}  // namespace batchsweep::train
