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

// Residual networks at 3x224x224: stem, four stages whose first block halves the side (but in the
// first stage), classifier. A bottleneck's stride is that of its 3x3 convolution. ResNet-18:
// 1,814,073,344; torchvision's weight metadata says 1.814 G, and 4.089 G of ResNet-50.
constexpr double resnet(const std::array<int, 4>& blocks, bool bottleneck) {
  const double expansion = bottleneck ? 4 : 1;
  double sum = conv(112, 64, 3, 7), in = 64, side = 56;
  for (int stage = 0; stage < 4; ++stage) {
    const double width = 64 << stage, out = width * expansion;
    for (int block = 0; block < blocks[static_cast<std::size_t>(stage)]; ++block) {
      const bool halves = stage > 0 && block == 0;
      const double before = side;
      if (halves) side /= 2;
      sum += bottleneck ? conv(before, width, in, 1) + conv(side, width, width, 3) +
                              conv(side, out, width, 1)
                        : conv(side, width, in, 3) + conv(side, width, width, 3);
      if (halves || in != out) sum += conv(side, out, in, 1);
      in = out;
    }
  }
  return sum + in * 1000;
}

// VGG-16 at 3x224x224. 15.47 G.
constexpr double kVgg16 = conv(224, 64, 3, 3) + conv(224, 64, 64, 3) + conv(112, 128, 64, 3) +
                          conv(112, 128, 128, 3) + conv(56, 256, 128, 3) +
                          2 * conv(56, 256, 256, 3) + conv(28, 512, 256, 3) +
                          2 * conv(28, 512, 512, 3) + 3 * conv(14, 512, 512, 3) + 25088.0 * 4096 +
                          4096.0 * 4096 + 4096.0 * 1000;

// DenseNet-121 at 3x224x224: stem, blocks of 1x1 and 3x3 convolutions with growth 32, transitions
// that halve channels and then sides. 2.834 G.
constexpr double densenet121() {
  double sum = conv(112, 64, 3, 7), channels = 64, side = 56;
  for (const int layers : {6, 12, 24, 16}) {
    if (channels > 64) {
      sum += conv(side, channels / 2, channels, 1);
      channels /= 2;
      side /= 2;
    }
    for (int layer = 0; layer < layers; ++layer, channels += 32)
      sum += conv(side, 128, channels, 1) + conv(side, 32, 128, 3);
  }
  return sum + channels * 1000;
}

// A transformer's layers over `length` tokens. Per token and layer: query, key, value, output
// (4 h^2), scores and weighted sum (2 length h), feed-forward (2 h f).
constexpr double transformer(double length, double layers, double h, double f) {
  return length * layers * (4 * h * h + 2 * length * h + 2 * h * f);
}

// Vision transformers at 3x224x224: 196 patches of 16x16 and the class token; one classifier.
// 17.56 G of ViT-B/16.
constexpr double vit(double layers, double h, double f) {
  return conv(14, h, 3, 16) + transformer(197, layers, h, f) + h * 1000;
}

// LeNet-5's shape at 1x28x28: two convolutions, three linear layers. 416,520.
constexpr double kLenet = conv(28, 6, 1, 5) + conv(10, 16, 6, 5) + 400 * 120 + 120 * 84 + 84 * 10;

// Language models of 128 tokens. The head of BERT stands at every position: transform (h^2) and
// tied decoder (h vocabulary); GPT-2's is the decoder alone.
constexpr double kTokens = 128;
constexpr double bert_mlm(double layers, double h, double f) {
  return transformer(kTokens, layers, h, f) + kTokens * (h * h + h * 30522);
}
constexpr double gpt2(double layers, double h) {
  return transformer(kTokens, layers, h, 4 * h) + kTokens * h * 50257;
}

// The encoder-decoder of "Attention is all you need" for sequences of equal length: a decoder's
// layer has a second attention, over the encoder's output, and the tied decoder stands at every
// position.
constexpr double translator(double layers, double h, double f, double vocabulary) {
  return 2 * transformer(kTokens, layers, h, f) + kTokens * layers * (4 * h * h + 2 * kTokens * h) +
         kTokens * h * vocabulary;
}

// DeepLabV3 at 3x480x480: a residual network whose last two stages keep an eighth of the side, the
// pyramid of dilated convolutions, its classifier and the auxiliary one.
constexpr double deeplabv3(const std::array<int, 4>& blocks) {
  double sum = conv(240, 64, 3, 7), in = 64, side = 120;
  for (int stage = 0; stage < 4; ++stage) {
    const double width = 64 << stage, out = 4 * width;
    for (int block = 0; block < blocks[static_cast<std::size_t>(stage)]; ++block) {
      const double before = side;
      if (stage == 1 && block == 0) side /= 2;
      sum += conv(before, width, in, 1) + conv(side, width, width, 3) + conv(side, out, width, 1);
      if (block == 0) sum += conv(side, out, in, 1);
      in = out;
    }
  }
  const double pyramid = conv(60, 256, 2048, 1) + 3 * conv(60, 256, 2048, 3) +
                         conv(1, 256, 2048, 1) + conv(60, 256, 5 * 256, 1);
  const double classifier = conv(60, 256, 256, 3) + conv(60, 21, 256, 1);
  const double auxiliary = conv(60, 256, 1024, 3) + conv(60, 21, 256, 1);
  return sum + pyramid + classifier + auxiliary;
}

// Inception v3 at 3x299x299 without its auxiliary classifier: counted by PyTorch, as tests/parity
// does.
constexpr double kInceptionV3 = 5'713'216'096;

// Classifiers of torchvision: 1000 classes of ImageNet, three channels.
ModelInfo classifier(std::string_view name, std::int64_t image_size, std::int64_t min_image_size,
                     std::int64_t parameters, double multiply_adds, std::string_view source,
                     std::optional<double> dropout = std::nullopt) {
  return {.name = name,
          .image_size = image_size,
          .channels = 3,
          .num_classes = 1000,
          .min_image_size = min_image_size,
          .num_parameters = parameters,
          .multiply_adds_per_sample = multiply_adds,
          .heads = {},
          .source = source,
          .dropout = dropout};
}

ModelInfo vision_transformer(std::string_view name, std::int64_t parameters, double multiply_adds,
                             std::string_view source) {
  ModelInfo info = classifier(name, 224, 16, parameters, multiply_adds, source, 0.0);
  info.has_attention = true;
  return info;
}

// The 21 classes of Pascal VOC; with the auxiliary classifier, as published and as trained.
ModelInfo segmenter(std::string_view name, std::int64_t parameters, double multiply_adds,
                    std::string_view source) {
  return {.name = name,
          .task = Task::kSegment,
          .image_size = 480,
          .channels = 3,
          .num_classes = 21,
          .min_image_size = 1,
          .num_parameters = parameters,
          .multiply_adds_per_sample = multiply_adds,
          .heads = {},
          .source = source,
          .dropout = 0.5};
}

ModelInfo bert(std::string_view name, std::int64_t parameters, double multiply_adds,
               std::string_view source) {
  return {.name = name,
          .domain = Domain::kText,
          .task = Task::kMaskedTokens,
          .num_classes = 2,
          .vocabulary = 30522,
          .max_positions = 512,
          .num_parameters = parameters,
          .multiply_adds_per_sample = multiply_adds,
          .heads = {{"mlm", Task::kMaskedTokens},
                    {"classify", Task::kClassify},
                    {"qa", Task::kAnswerSpan}},
          .source = source,
          .dropout = 0.1,
          .has_attention = true};
}

ModelInfo gpt(std::string_view name, std::int64_t parameters, double multiply_adds,
              std::string_view source) {
  return {.name = name,
          .domain = Domain::kText,
          .task = Task::kNextToken,
          .vocabulary = 50257,
          .max_positions = 1024,
          .num_parameters = parameters,
          .multiply_adds_per_sample = multiply_adds,
          .heads = {{"lm", Task::kNextToken}},
          .source = source,
          .dropout = 0.1,
          .has_attention = true};
}

ModelInfo lenet() {
  ModelInfo info = classifier("lenet", 28, 12, 61'706, kLenet,
                              "LeNet-5 (LeCun et al., 1998) with ReLU and max pooling");
  info.channels = 1;
  info.num_classes = 10;
  return info;
}

ModelInfo transformer_big() {
  return {.name = "transformer_big",
          .domain = Domain::kText,
          .task = Task::kTranslate,
          .vocabulary = 37'000,
          .max_positions = 1024,
          .num_parameters = 214'245'376,
          .multiply_adds_per_sample = translator(6, 1024, 4096, 37'000),
          .heads = {},
          .source = "Vaswani et al., 2017, \"big\", of torch.nn's transformer layers",
          .dropout = 0.3,
          .has_attention = true};
}

const std::vector<ModelInfo>& models() {
  static const std::vector<ModelInfo> all{
      classifier("resnet18", 224, 1, 11'689'512, resnet({2, 2, 2, 2}, false),
                 "torchvision resnet18"),
      classifier("resnet34", 224, 1, 21'797'672, resnet({3, 4, 6, 3}, false),
                 "torchvision resnet34"),
      classifier("resnet50", 224, 1, 25'557'032, resnet({3, 4, 6, 3}, true),
                 "torchvision resnet50"),
      classifier("resnet101", 224, 1, 44'549'160, resnet({3, 4, 23, 3}, true),
                 "torchvision resnet101"),
      classifier("resnet152", 224, 1, 60'192'808, resnet({3, 8, 36, 3}, true),
                 "torchvision resnet152"),
      classifier("vgg16", 224, 32, 138'357'544, kVgg16, "torchvision vgg16", 0.5),
      // 299: the auxiliary classifier ends in a 5x5 convolution.
      classifier("inception_v3", 299, 299, 27'161'264, kInceptionV3, "torchvision inception_v3",
                 0.5),
      classifier("densenet121", 224, 32, 7'978'856, densenet121(), "torchvision densenet121"),
      vision_transformer("vit_b_16", 86'567'656, vit(12, 768, 3072), "torchvision vit_b_16"),
      vision_transformer("vit_l_16", 304'326'632, vit(24, 1024, 4096), "torchvision vit_l_16"),
      segmenter("deeplabv3_resnet50", 42'004'074, deeplabv3({3, 4, 6, 3}),
                "torchvision deeplabv3_resnet50"),
      segmenter("deeplabv3_resnet101", 60'996'202, deeplabv3({3, 4, 23, 3}),
                "torchvision deeplabv3_resnet101"),
      lenet(),
      bert("bert-tiny", 4'416'698, bert_mlm(2, 128, 512),
           "Hugging Face BertForMaskedLM, hidden 128, 2 layers, 2 heads, intermediate 512"),
      bert("bert-base-uncased", 109'514'298, bert_mlm(12, 768, 3072),
           "Hugging Face bert-base-uncased"),
      bert("bert-large-uncased", 335'174'458, bert_mlm(24, 1024, 4096),
           "Hugging Face bert-large-uncased"),
      gpt("gpt2", 124'439'808, gpt2(12, 768), "Hugging Face gpt2"),
      gpt("gpt2-medium", 354'823'168, gpt2(24, 1024), "Hugging Face gpt2-medium"),
      gpt("gpt2-large", 774'030'080, gpt2(36, 1280), "Hugging Face gpt2-large"),
      transformer_big(),
  };
  return all;
}

}  // namespace

std::span<const ModelInfo> model_table() { return models(); }

const ModelInfo* find_model(std::string_view name) {
  for (const ModelInfo& model : models()) {
    if (model.name == name) return &model;
  }
  return nullptr;
}

}  // namespace batchsweep::sweeps
