// SPDX-License-Identifier: Apache-2.0
#include "worker/train/models/registry.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <array>

#include "worker/train/trial_errors.hpp"

namespace batchsweep::train {
namespace {

struct Builder {
  std::string_view name;
  std::unique_ptr<Model> (*build)(const sweeps::TrialSpec&, c10::Device);
};
constexpr std::array kBuilders{
    Builder{"resnet18", build_resnet18},
    Builder{"lenet", build_lenet},
    Builder{"bert-tiny", build_bert_tiny},
};

}  // namespace

std::unique_ptr<Model> build_model(const sweeps::TrialSpec& spec, c10::Device device) {
  const std::string& name = spec.model_source.empty() ? spec.model : spec.model_source;
  for (const Builder& builder : kBuilders) {
    if (builder.name == name) return builder.build(spec, device);
  }
  throw TrialFailed(fmt::format(
      "this batchsweep-trial has no model '{}': batchsweep models lists those it has", name));
}

at::Tensor loss_of(Model& model, const Batch& batch) {
  const at::Tensor scores = model.forward(batch.input);
  return at::cross_entropy_loss(scores.flatten(0, -2).to(at::kFloat), batch.target.flatten(),
                                /*weight=*/{}, at::Reduction::Mean, kIgnored);
}

}  // namespace batchsweep::train
