// SPDX-License-Identifier: Apache-2.0
// BERT (Devlin et al., 2018) with the architecture, names and initialisation of Hugging Face's
// BertForMaskedLM, BertForSequenceClassification and BertForQuestionAnswering; attention is
// scaled_dot_product_attention.
#include <ATen/ATen.h>
#include <fmt/format.h>

#include <vector>

#include "sweeps/trial_defaults.hpp"
#include "worker/train/checkpoint.hpp"
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

// Embeddings and layers, under every head.
class Bert : public Model {
 protected:
  Bert(const BertShape& shape, const ModelOptions& options)
      : Model(options),
        words_(embedding("word", shape.vocabulary, shape.hidden)),
        positions_(embedding("position", shape.positions, shape.hidden)),
        types_(embedding("token_type", 2, shape.hidden)),
        embedding_norm_(mutable_parameters(), "bert.embeddings.LayerNorm", shape.hidden, kEpsilon),
        layers_(make_layers(mutable_parameters(), shape)),
        dropout_(parameters(), shape.dropout) {
    words_.detach()[0].zero_();  // the padding token's row
    mutable_parameters().ignore_in_files("bert.embeddings.position_ids");
  }

  at::Tensor encode(const at::Tensor& tokens) const {
    const at::Tensor position = at::arange(tokens.size(1), tokens.options()).unsqueeze(0);
    at::Tensor x = at::embedding(words_, tokens, /*padding_idx=*/0);
    x = x + at::embedding(types_, at::zeros_like(tokens));  // one sequence: all of type 0
    x = x + at::embedding(positions_, position);
    x = dropout_(embedding_norm_(x));
    for (const BertLayer& layer : layers_) x = run_block(parameters(), layer, x);
    return x;
  }
  [[nodiscard]] const at::Tensor& words() const { return words_; }
  [[nodiscard]] const Dropout& dropout() const { return dropout_; }

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

  at::Tensor words_, positions_, types_;
  LayerNorm embedding_norm_;
  std::vector<BertLayer> layers_;
  Dropout dropout_;
};

// The decoder's weight is the word embedding.
class BertForMaskedLm final : public Bert {
 public:
  BertForMaskedLm(const BertShape& shape, const ModelOptions& options)
      : Bert(shape, options),
        decoder_bias_(
            mutable_parameters().add("cls.predictions.bias", {shape.vocabulary}, Initial::kZeros)),
        transform_(mutable_parameters(), "cls.predictions.transform.dense", shape.hidden,
                   shape.hidden, kWeight, kBias),
        transform_norm_(mutable_parameters(), "cls.predictions.transform.LayerNorm", shape.hidden,
                        kEpsilon) {
    mutable_parameters().ignore_in_files("cls.predictions.decoder.*");
  }

  at::Tensor forward(const Batch& batch) override {
    const at::Tensor x = transform_norm_(at::gelu(transform_(encode(batch.input))));
    return at::linear(x, words(), decoder_bias_);
  }

 private:
  at::Tensor decoder_bias_;
  Linear transform_;
  LayerNorm transform_norm_;
};

// By the first token's last state.
class BertForSequenceClassification final : public Bert {
 public:
  BertForSequenceClassification(const BertShape& shape, std::int64_t classes,
                                const ModelOptions& options)
      : Bert(shape, options),
        pooler_(mutable_parameters(), "bert.pooler.dense", shape.hidden, shape.hidden, kWeight,
                kBias),
        classifier_(mutable_parameters(), "classifier", shape.hidden, classes, kWeight, kBias) {}

  at::Tensor forward(const Batch& batch) override {
    const at::Tensor first = encode(batch.input).select(1, 0);
    return classifier_(dropout()(at::tanh(pooler_(first))));
  }

 private:
  Linear pooler_, classifier_;
};

// Two scores a token: that the answer begins, and that it ends there.
class BertForQuestionAnswering final : public Bert {
 public:
  BertForQuestionAnswering(const BertShape& shape, const ModelOptions& options)
      : Bert(shape, options),
        outputs_(mutable_parameters(), "qa_outputs", shape.hidden, 2, kWeight, kBias) {}

  at::Tensor forward(const Batch& batch) override { return outputs_(encode(batch.input)); }

  at::Tensor loss(const Batch& batch) override {
    const at::Tensor scores = forward(batch);
    const auto loss_of = [&](std::int64_t side) {
      return cross_entropy(scores.select(2, side), batch.target.select(1, side));
    };
    return (loss_of(0) + loss_of(1)) / 2;
  }

 private:
  Linear outputs_;
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
  BertShape shape = shape_of(spec.model_source);
  shape.vocabulary = info.vocabulary;
  shape.positions = info.max_positions;
  shape.dropout = *spec.dropout;
  switch (sweeps::task_of(spec)) {
    case sweeps::Task::kMaskedTokens:
      return std::make_unique<BertForMaskedLm>(shape, options);
    case sweeps::Task::kClassify:
      return std::make_unique<BertForSequenceClassification>(shape, *spec.num_classes, options);
    case sweeps::Task::kAnswerSpan:
      return std::make_unique<BertForQuestionAnswering>(shape, options);
    case sweeps::Task::kNextToken:
    case sweeps::Task::kSegment:
    case sweeps::Task::kTranslate:
      break;
  }
  throw TrialFailed(fmt::format("{} has no head \"{}\"", spec.model_source, spec.model_head));
}

}  // namespace batchsweep::train
