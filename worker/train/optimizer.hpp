// SPDX-License-Identifier: Apache-2.0
// SGD with momentum, Adam and AdamW over all parameters at once, by LibTorch's fused operators
// (torch::optim works through them one by one). The arithmetic is torch.optim's at its defaults:
// betas 0.9 and 0.999, eps 1e-8, no dampening, no Nesterov.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <optional>
#include <vector>

#include "sweeps/trial_spec.hpp"

namespace batchsweep::train {

class Optimizer {
 public:
  virtual ~Optimizer() = default;

  // Gives the gradients' memory back.
  void zero_grad();
  // The gradients of the last backward passes, to be changed in place before step(). Parameters
  // that no loss depends on have none and are left alone from then on, as in torch.optim.
  [[nodiscard]] const std::vector<at::Tensor>& collect_gradients();
  void set_learning_rate(double rate) { learning_rate_ = rate; }
  [[nodiscard]] double learning_rate() const { return learning_rate_; }
  // From the collected gradients, in place. Nothing changes where `found_inf` (of a GradScaler) is
  // 1. State is made at the first step, as everywhere.
  void step(const std::optional<at::Tensor>& found_inf = {});

 protected:
  Optimizer(const sweeps::TrialSpec& spec, std::vector<at::Tensor> parameters);
  virtual void make_state() = 0;
  virtual void update(const std::optional<at::Tensor>& found_inf) = 0;
  // Zeros shaped as each parameter.
  [[nodiscard]] std::vector<at::Tensor> zeros() const;

  std::vector<at::Tensor> parameters_, gradients_;
  double learning_rate_, weight_decay_;

 private:
  bool has_state_ = false;
};

// `spec` with its defaults filled in.
[[nodiscard]] std::unique_ptr<Optimizer> make_optimizer(const sweeps::TrialSpec& spec,
                                                        std::vector<at::Tensor> parameters);

}  // namespace batchsweep::train
