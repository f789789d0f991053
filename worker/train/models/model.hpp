// SPDX-License-Identifier: Apache-2.0
// A model as the training loop sees it: named tensors and scores. One file a family beside this
// one; models/registry.cpp lists them.
#pragma once

#include <ATen/core/Tensor.h>

#include "worker/train/data/batch.hpp"
#include "worker/train/parameters.hpp"

namespace batchsweep::train {

class Model {
 public:
  explicit Model(c10::Device device) : parameters_(device) {}
  virtual ~Model() = default;
  // What the model says about the batch: class scores, or scores of every token.
  [[nodiscard]] virtual at::Tensor forward(const at::Tensor& input) = 0;
  [[nodiscard]] const Parameters& parameters() const { return parameters_; }

 protected:
  Parameters& mutable_parameters() { return parameters_; }

 private:
  Parameters parameters_;
};

// The mean cross entropy over the targets that are asked for (not kIgnored), in fp32 whatever the
// scores are.
[[nodiscard]] at::Tensor loss_of(Model& model, const Batch& batch);

}  // namespace batchsweep::train
