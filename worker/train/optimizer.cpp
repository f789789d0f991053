// SPDX-License-Identifier: Apache-2.0
#include "worker/train/optimizer.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include "worker/train/trial_errors.hpp"

namespace batchsweep::train {
namespace {

class Sgd final : public Optimizer {
 public:
  Sgd(const sweeps::TrialSpec& spec, std::vector<at::Tensor> parameters)
      : Optimizer(std::move(parameters)),
        learning_rate_(*spec.learning_rate),
        momentum_(*spec.momentum),
        weight_decay_(*spec.weight_decay) {}

  void step() override {
    const at::NoGradGuard no_grad;
    const bool first = momentum_ != 0 && momentum_buffers_.empty();
    if (first) {  // the first step copies the gradients into them
      for (const at::Tensor& parameter : parameters_)
        momentum_buffers_.push_back(at::empty_like(parameter));
    }
    at::_fused_sgd_(parameters_, gradients(), momentum_buffers_, weight_decay_, momentum_,
                    learning_rate_,
                    /*dampening=*/0, /*nesterov=*/false, /*maximize=*/false, first);
  }

 private:
  double learning_rate_, momentum_, weight_decay_;
  std::vector<at::Tensor> momentum_buffers_;
};

class Adam final : public Optimizer {
 public:
  enum class Decay { kIntoGradient, kDecoupled };  // Adam, AdamW
  Adam(const sweeps::TrialSpec& spec, std::vector<at::Tensor> parameters, Decay decay)
      : Optimizer(std::move(parameters)),
        decay_(decay),
        learning_rate_(*spec.learning_rate),
        weight_decay_(*spec.weight_decay) {}

  void step() override {
    const at::NoGradGuard no_grad;
    if (steps_.empty()) make_state();
    at::_foreach_add_(steps_, 1);
    const auto update = decay_ == Decay::kDecoupled ? static_cast<Update>(&at::_fused_adamw_)
                                                    : static_cast<Update>(&at::_fused_adam_);
    update(parameters_, gradients(), means_, squares_, {}, steps_, learning_rate_, /*beta1=*/0.9,
           /*beta2=*/0.999, weight_decay_, /*eps=*/1e-8, /*amsgrad=*/false, /*maximize=*/false, {},
           {});
  }

 private:
  using Tensors = at::TensorList;
  using Update = void (*)(Tensors, Tensors, Tensors, Tensors, Tensors, Tensors, double, double,
                          double, double, double, bool, bool, const std::optional<at::Tensor>&,
                          const std::optional<at::Tensor>&);

  void make_state() {
    for (const at::Tensor& parameter : parameters_) {
      means_.push_back(at::zeros_like(parameter));
      squares_.push_back(at::zeros_like(parameter));
      steps_.push_back(at::zeros({}, parameter.options()));
    }
  }

  Decay decay_;
  double learning_rate_, weight_decay_;
  std::vector<at::Tensor> means_, squares_, steps_;
};

}  // namespace

void Optimizer::zero_grad() {
  for (at::Tensor& parameter : parameters_) parameter.mutable_grad().reset();
}

std::vector<at::Tensor> Optimizer::gradients() const {
  std::vector<at::Tensor> gradients;
  gradients.reserve(parameters_.size());
  for (const at::Tensor& parameter : parameters_) gradients.push_back(parameter.grad());
  return gradients;
}

std::unique_ptr<Optimizer> make_optimizer(const sweeps::TrialSpec& spec,
                                          std::vector<at::Tensor> parameters) {
  const std::string& name = *spec.optimizer;
  if (name == "sgd") return std::make_unique<Sgd>(spec, std::move(parameters));
  if (name == "adam")
    return std::make_unique<Adam>(spec, std::move(parameters), Adam::Decay::kIntoGradient);
  if (name == "adamw")
    return std::make_unique<Adam>(spec, std::move(parameters), Adam::Decay::kDecoupled);
  throw TrialFailed(
      fmt::format("this batchsweep-trial has no optimizer '{}': it has sgd, adam and adamw", name));
}

}  // namespace batchsweep::train
