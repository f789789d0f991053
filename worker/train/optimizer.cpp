// SPDX-License-Identifier: Apache-2.0
#include "worker/train/optimizer.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>

#include "worker/train/trial_errors.hpp"

namespace batchsweep::train {
namespace {

class Sgd final : public Optimizer {
 public:
  Sgd(const sweeps::TrialSpec& spec, std::vector<at::Tensor> parameters)
      : Optimizer(spec, std::move(parameters)), momentum_(*spec.momentum) {
    const auto reduced_on_cpu = [](const at::Tensor& parameter) {
      return parameter.is_cpu() && at::isReducedFloatingType(parameter.scalar_type());
    };
    fused_works_ = std::none_of(parameters_.begin(), parameters_.end(), reduced_on_cpu);
  }

 private:
  // Zeros and no special first step: the first update copies the gradients into the buffers, also
  // where a loss scaler left out the very first ones.
  void make_state() override {
    if (momentum_ != 0) momentum_buffers_ = zeros();
  }
  void update(const std::optional<at::Tensor>& found_inf) override {
    if (!fused_works_) return update_unfused();
    at::_fused_sgd_(parameters_, gradients_, momentum_buffers_, weight_decay_, momentum_,
                    learning_rate_, /*dampening=*/0, /*nesterov=*/false, /*maximize=*/false,
                    /*is_first_step=*/false, /*grad_scale=*/{}, found_inf);
  }

  // In LibTorch 2.11 the fused kernel of CPUs leaves most weights of 16 bits as they are.
  void update_unfused() {
    if (weight_decay_ != 0) at::_foreach_add_(gradients_, parameters_, weight_decay_);
    if (momentum_ != 0) {
      at::_foreach_mul_(momentum_buffers_, momentum_);
      at::_foreach_add_(momentum_buffers_, gradients_);
    }
    at::_foreach_add_(parameters_, momentum_ != 0 ? momentum_buffers_ : gradients_,
                      -learning_rate_);
  }

  double momentum_;
  bool fused_works_;
  std::vector<at::Tensor> momentum_buffers_;
};

class Adam final : public Optimizer {
 public:
  enum class Decay { kIntoGradient, kDecoupled };  // Adam, AdamW
  Adam(const sweeps::TrialSpec& spec, std::vector<at::Tensor> parameters, Decay decay)
      : Optimizer(spec, std::move(parameters)), decay_(decay) {}

 private:
  using Tensors = at::TensorList;
  using Update = void (*)(Tensors, Tensors, Tensors, Tensors, Tensors, Tensors, double, double,
                          double, double, double, bool, bool, const std::optional<at::Tensor>&,
                          const std::optional<at::Tensor>&);

  void make_state() override {
    means_ = zeros();
    squares_ = zeros();
    // One count for all: they are updated together. In fp32 whatever the weights are.
    const auto where = parameters_.front().options().dtype(at::kFloat);
    steps_.assign(parameters_.size(), at::zeros({}, where));
  }
  void update(const std::optional<at::Tensor>& found_inf) override {
    at::Tensor& step = steps_.front();
    step.add_(1);
    const auto fused = decay_ == Decay::kDecoupled ? static_cast<Update>(&at::_fused_adamw_)
                                                   : static_cast<Update>(&at::_fused_adam_);
    fused(parameters_, gradients_, means_, squares_, {}, steps_, learning_rate_, /*beta1=*/0.9,
          /*beta2=*/0.999, weight_decay_, /*eps=*/1e-8, /*amsgrad=*/false, /*maximize=*/false,
          /*grad_scale=*/{}, found_inf);
    if (found_inf) step.sub_(*found_inf);
  }

  Decay decay_;
  std::vector<at::Tensor> means_, squares_, steps_;
};

}  // namespace

Optimizer::Optimizer(const sweeps::TrialSpec& spec, std::vector<at::Tensor> parameters)
    : parameters_(std::move(parameters)),
      learning_rate_(*spec.learning_rate),
      weight_decay_(*spec.weight_decay) {}

void Optimizer::zero_grad() {
  gradients_.clear();
  for (at::Tensor& parameter : parameters_) parameter.mutable_grad().reset();
}

const std::vector<at::Tensor>& Optimizer::collect_gradients() {
  if (!has_state_) {
    std::erase_if(parameters_, [](const at::Tensor& p) { return !p.grad().defined(); });
    if (parameters_.empty()) throw TrialFailed("the loss depends on no trained parameter");
  }
  gradients_.clear();
  for (const at::Tensor& parameter : parameters_) {
    if (!parameter.grad().defined()) {
      throw TrialFailed(
          fmt::format("a parameter of {} numbers has a gradient in some steps and none in others",
                      parameter.numel()));
    }
    gradients_.push_back(parameter.grad());
  }
  return gradients_;
}

void Optimizer::step(const std::optional<at::Tensor>& found_inf) {
  const at::NoGradGuard no_grad;
  if (!has_state_) make_state();
  has_state_ = true;
  update(found_inf);
}

std::vector<at::Tensor> Optimizer::zeros() const {
  std::vector<at::Tensor> zeros;
  zeros.reserve(parameters_.size());
  for (const at::Tensor& parameter : parameters_) zeros.push_back(at::zeros_like(parameter));
  return zeros;
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
