// SPDX-License-Identifier: Apache-2.0
#include "sweeps/model_table.hpp"

#include <array>

namespace batchsweep::sweeps {
namespace {

// Multiply-adds of one forward pass of one sample: convolutions and matrix products only, biases,
// norms, activations, pooling and softmax left out (as torchvision's and fvcore's counts do).
constexpr double conv(double out_side, double out_channels, double in_channels, double kernel) {
  return out_side * out_side * out_channels * in_channels * kernel * kernel;
}

// A stage of two basic blocks that halves the side: the first convolution and the 1x1 shortcut read
// half the channels.
constexpr double resnet_stage(double side, double channels) {
  return conv(side, channels, channels / 2, 3) + 3 * conv(side, channels, channels, 3) +
         conv(side, channels, channels / 2, 1);
}

// ResNet-18 at 3x224x224: stem, four stages, classifier. 1,814,073,344; torchvision's weight
// metadata says 1.814 G.
constexpr double kResnet18 = conv(112, 64, 3, 7) + 4 * conv(56, 64, 64, 3) + resnet_stage(28, 128) +
                             resnet_stage(14, 256) + resnet_stage(7, 512) + 512 * 1000;

// LeNet-5's shape at 1x28x28: two convolutions, three linear layers. 416,520.
constexpr double kLenet = conv(28, 6, 1, 5) + conv(10, 16, 6, 5) + 400 * 120 + 120 * 84 + 84 * 10;

// BERT of `length` tokens with the masked-language-model head at every position. Per token and
// layer: query, key, value, output (4 h^2), scores and weighted sum (2 length h), feed-forward (2 h
// f); head: transform (h^2) and tied decoder (h vocabulary).
constexpr double bert_mlm(double length, double layers, double h, double f, double vocabulary) {
  return length * (layers * (4 * h * h + 2 * length * h + 2 * h * f) + h * h + h * vocabulary);
}
constexpr double kBertTiny = bert_mlm(128, 2, 128, 512, 30522);

const std::array<ModelInfo, 3> kModels{{
    {.name = "resnet18",
     .domain = Domain::kImage,
     .image_size = 224,
     .channels = 3,
     .num_classes = 1000,
     .min_image_size = 1,  // ends in adaptive pooling
     .max_positions = 0,
     .num_parameters = 11'689'512,
     .multiply_adds_per_sample = kResnet18,
     .heads = {},
     .source = "torchvision resnet18",
     .dropout = std::nullopt},
    {.name = "lenet",
     .domain = Domain::kImage,
     .image_size = 28,
     .channels = 1,
     .num_classes = 10,
     .min_image_size = 12,  // the second pooling still leaves one pixel
     .max_positions = 0,
     .num_parameters = 61'706,
     .multiply_adds_per_sample = kLenet,
     .heads = {},
     .source = "LeNet-5 (LeCun et al., 1998) with ReLU and max pooling",
     .dropout = std::nullopt},
    {.name = "bert-tiny",
     .domain = Domain::kText,
     .image_size = 0,
     .channels = 0,
     .num_classes = 30522,
     .min_image_size = 0,
     .max_positions = 512,
     .num_parameters = 4'416'698,
     .multiply_adds_per_sample = kBertTiny,
     .heads = {"mlm"},
     .source = "Hugging Face BertForMaskedLM, hidden 128, 2 layers, 2 heads, intermediate 512",
     .dropout = 0.1},
}};

}  // namespace

std::span<const ModelInfo> model_table() { return kModels; }

const ModelInfo* find_model(std::string_view name) {
  for (const ModelInfo& model : kModels) {
    if (model.name == name) return &model;
  }
  return nullptr;
}

}  // namespace batchsweep::sweeps
