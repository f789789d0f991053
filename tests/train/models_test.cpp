// SPDX-License-Identifier: Apache-2.0
// What the built models count, take, start from and refuse. That they compute what their references
// do: tests/parity.
#include <ATen/ATen.h>
#include <gmock/gmock.h>

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
