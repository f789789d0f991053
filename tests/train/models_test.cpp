// SPDX-License-Identifier: Apache-2.0
// Our models against torchvision's and Hugging Face's, as make_model_reference.py wrote them down:
// names, shapes, and one training pass.
#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include <fstream>

#include "base/hash.hpp"
#include "base/json.hpp"
#include "sweeps/model_table.hpp"
#include "sweeps/trial_defaults.hpp"
#include "worker/train/models/registry.hpp"
#include "worker/train/trial_errors.hpp"

namespace batchsweep::train {
namespace {

sweeps::TrialSpec spec_of(const std::string& model) {
  sweeps::TrialSpec spec;
  spec.model = spec.model_source = model;
  spec.batch_size = 2;
  return spec;
}

std::unique_ptr<Model> build(const sweeps::TrialSpec& spec) {
  return build_model(sweeps::with_defaults(spec), c10::kCPU);
}

Json reference_of(const std::string& model) {
  std::ifstream file(MODEL_REFERENCE);
  return Json::parse(file).at(model);
}

// Element i of the reference's tensors (make_model_reference.py).
at::Tensor wave(const std::string& name, at::IntArrayRef shape) {
  const at::Tensor count = at::arange(c10::multiply_integers(shape), at::kDouble);
  return count.mul(0.7).add(crc32_of(name) % 1000).sin().mul(0.05).to(at::kFloat).view(shape);
}

void set_weights(const Model& model) {
  const at::NoGradGuard no_grad;
  for (const NamedTensor& parameter : model.parameters().trained()) {
    at::Tensor values = wave(parameter.name, parameter.tensor.sizes());
    if (values.dim() == 1 && parameter.name.ends_with("weight")) values += 1;
    at::Tensor(parameter.tensor).copy_(values);
  }
}

std::map<std::string, std::vector<std::int64_t>> shapes(const std::vector<NamedTensor>& tensors) {
  std::map<std::string, std::vector<std::int64_t>> shapes;
  for (const NamedTensor& named : tensors) shapes[named.name] = named.tensor.sizes().vec();
  return shapes;
}

std::map<std::string, std::vector<std::int64_t>> shapes(const Json& tensors) {
  std::map<std::string, std::vector<std::int64_t>> shapes;
  for (const Json& named : tensors)
    shapes[named.at(0)] = named.at(1).get<std::vector<std::int64_t>>();
  return shapes;
}

void expect_reference(const sweeps::TrialSpec& spec, const Batch& batch) {
  const Json reference = reference_of(spec.model);
  const auto model = build(spec);
  EXPECT_EQ(shapes(model->parameters().trained()), shapes(reference.at("parameters")));
  EXPECT_EQ(shapes(model->parameters().buffers()), shapes(reference.at("buffers")));
  EXPECT_EQ(model->parameters().count(), reference.at("num_parameters").get<std::int64_t>());

  set_weights(*model);
  const at::Tensor scores = model->forward(batch).flatten(0, -2).slice(1, 0, 5).flatten();
  const at::Tensor wanted =
      at::tensor(reference.at("scores").get<std::vector<double>>(), at::kFloat);
  EXPECT_LT((scores - wanted).abs().max().item<double>(), 2e-4);

  const at::Tensor loss = model->loss(batch);
  loss.backward();
  EXPECT_NEAR(loss.item<double>(), reference.at("loss").get<double>(), 1e-4);
  double largest = 0;
  for (const auto& [name, norm] : reference.at("gradient_norms").items()) {
    largest = std::max(largest, norm.get<double>());
  }
  for (const NamedTensor& parameter : model->parameters().trained()) {
    const double norm = reference.at("gradient_norms").at(parameter.name);
    EXPECT_NEAR(parameter.tensor.grad().to(at::kDouble).norm().item<double>(), norm,
                1e-3 * norm + 1e-6 * largest)
        << parameter.name;
  }
}

TEST(Models, Resnet18IsTorchvisions) {
  auto spec = spec_of("resnet18");
  spec.num_classes = 10;
  expect_reference(spec, {.input = wave("images", {4, 3, 64, 64}) * 20,
                          .target = at::arange(4, at::kLong) * 3,
                          .samples = 4});
}

TEST(Models, BertTinyIsHuggingFaces) {
  auto spec = spec_of("bert-tiny");
  spec.dropout = 0;
  const at::Tensor tokens = at::arange(32, at::kLong).view({2, 16}) * 31 + 1000;
  const at::Tensor asked = at::arange(32, at::kLong).view({2, 16}).remainder(5) == 0;
  expect_reference(spec, {.input = tokens,
                          .target = at::where(asked, tokens, at::full_like(tokens, kIgnored)),
                          .samples = 2,
                          .tokens = 32});
}

TEST(Models, AllOfTheTableAreBuiltWithTheParametersItNames) {
  for (const sweeps::ModelInfo& info : sweeps::model_table()) {
    const auto spec = sweeps::with_defaults(spec_of(std::string(info.name)));
    EXPECT_EQ(build_model(spec, c10::kMeta)->parameters().count(), info.num_parameters)
        << info.name;
  }
}

TEST(Models, TakeTheSmallestImagesThatTheTableNames) {
  for (const sweeps::ModelInfo& info : sweeps::model_table()) {
    if (info.domain != sweeps::Domain::kImage) continue;
    auto spec = spec_of(std::string(info.name));
    spec.image_height = spec.image_width = info.min_image_size;
    const auto model = build(spec);
    const at::Tensor image =
        at::zeros({2, info.channels, info.min_image_size, info.min_image_size});
    EXPECT_EQ(model->forward({.input = image}).size(1), info.num_classes) << info.name;
  }
}

TEST(Models, StartFromThePublishedDistributions) {
  at::manual_seed(1);
  const auto resnet = build(spec_of("resnet18"));
  const auto bert = build(spec_of("bert-tiny"));
  const auto deviation = [](const Model& model, const std::string& name) {
    for (const NamedTensor& parameter : model.parameters().trained()) {
      if (parameter.name == name) return parameter.tensor.detach().std().item<double>();
    }
    return -1.0;
  };
  EXPECT_NEAR(deviation(*resnet, "layer4.1.conv2.weight"), std::sqrt(2.0 / (512 * 9)), 1e-4);
  EXPECT_NEAR(deviation(*resnet, "fc.weight"), 1 / std::sqrt(3.0 * 512), 1e-3);
  EXPECT_NEAR(deviation(*bert, "bert.embeddings.word_embeddings.weight"), 0.02, 1e-4);
}

TEST(Models, RefuseWhatTheyCannotDo) {
  EXPECT_THROW(build(spec_of("resnet1")), TrialFailed);
  auto long_text = spec_of("bert-tiny");
  long_text.sequence_length = 513;
  EXPECT_THROW(build(long_text), TrialFailed);
  const auto resnet = build(spec_of("resnet18"));
  EXPECT_THROW(static_cast<void>(resnet->forward({.input = at::zeros({1, 3, 28, 28})})),
               Unsupported);  // one value a channel in layer4
}

}  // namespace
}  // namespace batchsweep::train
