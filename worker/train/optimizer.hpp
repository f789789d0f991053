// SPDX-License-Identifier: Apache-2.0
// SGD with momentum, Adam and AdamW over all parameters at once, by LibTorch's fused operators
// (torch::optim works through them one by one). The arithmetic is torch.optim's at its defaults:
// betas 0.9 and 0.999, eps 1e-8, no dampening, no Nesterov.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

#include "sweeps/trial_spec.hpp"

namespace batchsweep::train {

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  // From the gradients of the parameters, in place. State is made at the first step, as everywhere.
  virtual void step() = 0;
  // Gives the gradients' memory back.
  void zero_grad();

 protected:
  explicit Optimizer(std::vector<at::Tensor> parameters) : parameters_(std::move(parameters)) {}
  [[nodiscard]] std::vector<at::Tensor> gradients() const;
  std::vector<at::Tensor> parameters_;
};

// `spec` with its defaults filled in.
[[nodiscard]] std::unique_ptr<Optimizer> make_optimizer(const sweeps::TrialSpec& spec,
                                                        std::vector<at::Tensor> parameters);

}  // namespace batchsweep::train
