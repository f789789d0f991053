// SPDX-License-Identifier: Apache-2.0
// Inception v3 (Szegedy et al., 2015) with torchvision's architecture, names and initialisation,
// trained with its auxiliary classifier.
#include <ATen/ATen.h>
#include <fmt/format.h>

#include <utility>
#include <vector>

#include "worker/train/checkpoint.hpp"
#include "worker/train/layers.hpp"
#include "worker/train/models/registry.hpp"

namespace batchsweep::train {
namespace {

constexpr double kEpsilon = 1e-3;   // of the batch norms
constexpr double kAuxiliary = 0.4;  // weight of the auxiliary classifier's loss
constexpr auto kWeight = Initial::normal(0.1);

class Unit {
 public:
  Unit(Parameters& parameters, const std::string& name, const ConvolutionShape& shape)
      : convolution_(parameters, name + ".conv", shape, kWeight, {}),
        norm_(parameters, name + ".bn", shape.out, kEpsilon) {}
  at::Tensor operator()(const at::Tensor& input) const {
    return norm_(convolution_(input)).relu_();
  }

 private:
  Convolution convolution_;
  BatchNorm norm_;
};

// Units one behind the other: names and shapes, `in` filled in from the one before.
class Chain {
 public:
  struct Link {
    std::string name;
    ConvolutionShape shape;
  };
  Chain(Parameters& parameters, const std::string& block, std::int64_t in,
        std::vector<Link> links) {
    for (Link& link : links) {
      link.shape.in = in;
      units_.emplace_back(parameters, block + "." + link.name, link.shape);
      in = link.shape.out;
    }
  }
  at::Tensor operator()(at::Tensor x) const {
    for (const Unit& unit : units_) x = unit(x);
    return x;
  }

 private:
  std::vector<Unit> units_;
};

// What happens to the input of a block's last branch.
enum class Pooling { kAverage, kHalve };

// Branches side by side, joined by channel. A branch may end in two units side by side.
class Mixed {
 public:
  struct Branch {
    std::vector<Chain::Link> links;
    std::vector<Chain::Link> split;
  };
  // The pooled branch stands last; without links it is the pooling alone.
  Mixed(Parameters& parameters, const std::string& name, std::int64_t in,
        const std::vector<Branch>& branches, Pooling pooling,
        const std::vector<Chain::Link>& pooled)
      : pooling_(pooling), pooled_(parameters, name, in, pooled) {
    for (const Branch& branch : branches) {
      Made& made = branches_.emplace_back(Made{Chain(parameters, name, in, branch.links), {}});
      const std::int64_t width = branch.links.back().shape.out;
      for (const Chain::Link& end : branch.split)
        made.ends.emplace_back(parameters, name, width, std::vector{end});
    }
  }

  at::Tensor operator()(const at::Tensor& input) const {
    std::vector<at::Tensor> parts;
    for (const Made& branch : branches_) {
      const at::Tensor x = branch.chain(input);
      if (branch.ends.empty()) parts.push_back(x);
      for (const Chain& end : branch.ends) parts.push_back(end(x));
    }
    const at::Tensor pool = pooling_ == Pooling::kAverage ? at::avg_pool2d(input, 3, 1, 1)
                                                          : at::max_pool2d(input, 3, 2);
    parts.push_back(pooled_(pool));
    return at::cat(parts, 1);
  }

 private:
  struct Made {
    Chain chain;
    std::vector<Chain> ends;
  };
  Pooling pooling_;
  Chain pooled_;
  std::vector<Made> branches_;
};

using Links = std::vector<Chain::Link>;

ConvolutionShape one(std::int64_t out) { return {.out = out}; }
ConvolutionShape square(std::int64_t out, std::int64_t kernel) {
  return {.out = out, .kernel = kernel, .padding = kernel / 2};
}
ConvolutionShape halving(std::int64_t out) { return {.out = out, .kernel = 3, .stride = 2}; }
ConvolutionShape row(std::int64_t out, std::int64_t taps) {
  return {.out = out, .kernel = {1, taps}, .padding = {0, taps / 2}};
}
ConvolutionShape column(std::int64_t out, std::int64_t taps) {
  return {.out = out, .kernel = {taps, 1}, .padding = {taps / 2, 0}};
}

Mixed block_a(Parameters& parameters, const std::string& name, std::int64_t in,
              std::int64_t pooled) {
  return {parameters,
          name,
          in,
          {{Links{{"branch1x1", one(64)}}, {}},
           {Links{{"branch5x5_1", one(48)}, {"branch5x5_2", square(64, 5)}}, {}},
           {Links{{"branch3x3dbl_1", one(64)},
                  {"branch3x3dbl_2", square(96, 3)},
                  {"branch3x3dbl_3", square(96, 3)}},
            {}}},
          Pooling::kAverage,
          {{"branch_pool", one(pooled)}}};
}

Mixed block_b(Parameters& parameters, const std::string& name, std::int64_t in) {
  return {parameters,
          name,
          in,
          {{Links{{"branch3x3", halving(384)}}, {}},
           {Links{{"branch3x3dbl_1", one(64)},
                  {"branch3x3dbl_2", square(96, 3)},
                  {"branch3x3dbl_3", halving(96)}},
            {}}},
          Pooling::kHalve,
          {}};
}

Mixed block_c(Parameters& parameters, const std::string& name, std::int64_t c) {
  return {
      parameters,
      name,
      768,
      {{Links{{"branch1x1", one(192)}}, {}},
       {Links{{"branch7x7_1", one(c)}, {"branch7x7_2", row(c, 7)}, {"branch7x7_3", column(192, 7)}},
        {}},
       {Links{{"branch7x7dbl_1", one(c)},
              {"branch7x7dbl_2", column(c, 7)},
              {"branch7x7dbl_3", row(c, 7)},
              {"branch7x7dbl_4", column(c, 7)},
              {"branch7x7dbl_5", row(192, 7)}},
        {}}},
      Pooling::kAverage,
      {{"branch_pool", one(192)}}};
}

Mixed block_d(Parameters& parameters, const std::string& name) {
  return {parameters,
          name,
          768,
          {{Links{{"branch3x3_1", one(192)}, {"branch3x3_2", halving(320)}}, {}},
           {Links{{"branch7x7x3_1", one(192)},
                  {"branch7x7x3_2", row(192, 7)},
                  {"branch7x7x3_3", column(192, 7)},
                  {"branch7x7x3_4", halving(192)}},
            {}}},
          Pooling::kHalve,
          {}};
}

Mixed block_e(Parameters& parameters, const std::string& name, std::int64_t in) {
  return {parameters,
          name,
          in,
          {{Links{{"branch1x1", one(320)}}, {}},
           {Links{{"branch3x3_1", one(384)}},
            Links{{"branch3x3_2a", row(384, 3)}, {"branch3x3_2b", column(384, 3)}}},
           {Links{{"branch3x3dbl_1", one(448)}, {"branch3x3dbl_2", square(384, 3)}},
            Links{{"branch3x3dbl_3a", row(384, 3)}, {"branch3x3dbl_3b", column(384, 3)}}}},
          Pooling::kAverage,
          {{"branch_pool", one(192)}}};
}

class Inception final : public Model {
 public:
  Inception(std::int64_t classes, double dropout, const ModelOptions& options)
      : Model(options),
        conv_1a_(mutable_parameters(), "Conv2d_1a_3x3",
                 {.in = 3, .out = 32, .kernel = 3, .stride = 2}),
        conv_2a_(mutable_parameters(), "Conv2d_2a_3x3", {.in = 32, .out = 32, .kernel = 3}),
        conv_2b_(mutable_parameters(), "Conv2d_2b_3x3",
                 {.in = 32, .out = 64, .kernel = 3, .padding = 1}),
        conv_3b_(mutable_parameters(), "Conv2d_3b_1x1", {.in = 64, .out = 80}),
        conv_4a_(mutable_parameters(), "Conv2d_4a_3x3", {.in = 80, .out = 192, .kernel = 3}),
        early_(make_early(mutable_parameters())),
        aux_conv0_(mutable_parameters(), "AuxLogits.conv0", {.in = 768, .out = 128}),
        aux_conv1_(mutable_parameters(), "AuxLogits.conv1", {.in = 128, .out = 768, .kernel = 5}),
        aux_fc_(mutable_parameters(), "AuxLogits.fc", 768, classes, Initial::normal(0.001),
                Initial::kUniformFanIn),
        late_(make_late(mutable_parameters())),
        fc_(mutable_parameters(), "fc", 2048, classes, kWeight, Initial::kUniformFanIn),
        dropout_(parameters(), dropout) {}

  at::Tensor forward(const Batch& batch) override { return late_scores(middle(batch.input)); }

  at::Tensor loss(const Batch& batch) override {
    const at::Tensor x = middle(batch.input);
    return cross_entropy(late_scores(x), batch.target) +
           kAuxiliary * cross_entropy(auxiliary_scores(x), batch.target);
  }

 private:
  static std::vector<Mixed> make_early(Parameters& p) {
    std::vector<Mixed> blocks;
    blocks.push_back(block_a(p, "Mixed_5b", 192, 32));
    blocks.push_back(block_a(p, "Mixed_5c", 256, 64));
    blocks.push_back(block_a(p, "Mixed_5d", 288, 64));
    blocks.push_back(block_b(p, "Mixed_6a", 288));
    blocks.push_back(block_c(p, "Mixed_6b", 128));
    blocks.push_back(block_c(p, "Mixed_6c", 160));
    blocks.push_back(block_c(p, "Mixed_6d", 160));
    blocks.push_back(block_c(p, "Mixed_6e", 192));
    return blocks;
  }
  static std::vector<Mixed> make_late(Parameters& p) {
    std::vector<Mixed> blocks;
    blocks.push_back(block_d(p, "Mixed_7a"));
    blocks.push_back(block_e(p, "Mixed_7b", 1280));
    blocks.push_back(block_e(p, "Mixed_7c", 2048));
    return blocks;
  }

  at::Tensor middle(const at::Tensor& images) const {
    at::Tensor x = at::max_pool2d(conv_2b_(conv_2a_(conv_1a_(images))), 3, 2);
    x = at::max_pool2d(conv_4a_(conv_3b_(x)), 3, 2);
    for (const Mixed& block : early_) x = run_block(parameters(), block, x);
    return x;
  }
  at::Tensor late_scores(at::Tensor x) const {
    for (const Mixed& block : late_) x = run_block(parameters(), block, x);
    return fc_(dropout_(at::adaptive_avg_pool2d(x, {1, 1})).flatten(1));
  }
  at::Tensor auxiliary_scores(const at::Tensor& input) const {
    const at::Tensor x = aux_conv1_(aux_conv0_(at::avg_pool2d(input, 5, 3)));
    return aux_fc_(at::adaptive_avg_pool2d(x, {1, 1}).flatten(1));
  }

  Unit conv_1a_, conv_2a_, conv_2b_, conv_3b_, conv_4a_;
  std::vector<Mixed> early_;
  Unit aux_conv0_, aux_conv1_;
  Linear aux_fc_;
  std::vector<Mixed> late_;
  Linear fc_;
  Dropout dropout_;
};

}  // namespace

std::unique_ptr<Model> build_inception_v3(const sweeps::TrialSpec& spec,
                                          const ModelOptions& options) {
  return std::make_unique<Inception>(*spec.num_classes, *spec.dropout, options);
}

}  // namespace batchsweep::train
