// SPDX-License-Identifier: Apache-2.0
#include "worker/train/models/registry.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <array>

#include "sweeps/model_table.hpp"
#include "worker/train/models/script.hpp"
#include "worker/train/trial_errors.hpp"

namespace batchsweep::train {
namespace {

struct Builder {
  std::string_view name;
  BuildModel* build;
};
constexpr std::array kBuilders{
    Builder{"resnet18", build_resnet},
    Builder{"resnet34", build_resnet},
    Builder{"resnet50", build_resnet},
    Builder{"resnet101", build_resnet},
    Builder{"resnet152", build_resnet},
    Builder{"vgg16", build_vgg16},
    Builder{"inception_v3", build_inception_v3},
    Builder{"densenet121", build_densenet121},
    Builder{"vit_b_16", build_vit_b_16},
    Builder{"vit_l_16", build_vit_l_16},
    Builder{"deeplabv3_resnet50", build_deeplabv3},
    Builder{"deeplabv3_resnet101", build_deeplabv3},
    Builder{"lenet", build_lenet},
    Builder{"bert-tiny", build_bert},
    Builder{"bert-base-uncased", build_bert},
    Builder{"bert-large-uncased", build_bert},
    Builder{"gpt2", build_gpt2},
    Builder{"gpt2-medium", build_gpt2},
    Builder{"gpt2-large", build_gpt2},
    Builder{"transformer_big", build_transformer_big},
};

void refuse_long_sequences(const sweeps::TrialSpec& spec, const sweeps::ModelInfo& info) {
  if (info.domain != sweeps::Domain::kText || *spec.sequence_length <= info.max_positions) return;
  throw TrialFailed(fmt::format("sequence_length {} is over {}'s {} positions",
                                *spec.sequence_length, info.name, info.max_positions));
}

}  // namespace

ModelOptions model_options(const sweeps::TrialSpec& spec, c10::Device device) {
  return {.device = device,
          .type = spec.precision == "bf16-true" ? at::kBFloat16 : at::kFloat,
          .channels_last = spec.memory_format == "channels_last",
          .checkpointing = spec.activation_checkpointing};
}

std::unique_ptr<Model> build_model(const sweeps::TrialSpec& spec, c10::Device device) {
  sweeps::TrialSpec named = spec;
  if (named.model_source.empty()) named.model_source = named.model;
  const std::string& name = named.model_source;
  if (name.starts_with(kScriptPrefix)) return load_script(named, model_options(spec, device));
  for (const Builder& builder : kBuilders) {
    if (builder.name != name) continue;
    refuse_long_sequences(named, *sweeps::find_model(name));
    return builder.build(named, model_options(spec, device));
  }
  throw TrialFailed(fmt::format(
      "this batchsweep-trial has no model '{}': batchsweep models lists those it has", name));
}

at::Tensor Model::loss(const Batch& batch) { return cross_entropy(forward(batch), batch.target); }

at::Tensor cross_entropy(const at::Tensor& scores, const at::Tensor& target, double smoothing) {
  const bool tokens = scores.dim() == 3;
  return at::cross_entropy_loss((tokens ? scores.flatten(0, 1) : scores).to(at::kFloat),
                                tokens ? target.flatten() : target, /*weight=*/{},
                                at::Reduction::Mean, kIgnored, smoothing);
}

}  // namespace batchsweep::train
