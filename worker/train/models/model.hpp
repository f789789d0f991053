// SPDX-License-Identifier: Apache-2.0
// A model as the training loop sees it: named tensors and a loss. One file a family beside this
// one; models/registry.cpp lists them.
#pragma once

#include <ATen/core/Tensor.h>

#include "worker/train/data/batch.hpp"
#include "worker/train/parameters.hpp"

namespace batchsweep::train {

class Model {
 public:
  explicit Model(const ModelOptions& options) : parameters_(options) {}
  virtual ~Model() = default;
  // What the model says about the batch: scores with the classes in dimension 1; of tokens
  // [n, length, classes].
  [[nodiscard]] virtual at::Tensor forward(const Batch& batch) = 0;
  // What training lowers. As published; mostly the cross entropy of forward().
  [[nodiscard]] virtual at::Tensor loss(const Batch& batch);
  [[nodiscard]] const Parameters& parameters() const { return parameters_; }
  virtual void set_training(bool training) { parameters_.set_training(training); }

 protected:
  Parameters& mutable_parameters() { return parameters_; }

 private:
  Parameters parameters_;
};

// The mean cross entropy over the targets that are asked for (not kIgnored), in fp32 whatever the
// scores are, which are those of forward(). `smoothing`: so much of the target is spread over all
// classes.
[[nodiscard]] at::Tensor cross_entropy(const at::Tensor& scores, const at::Tensor& target,
                                       double smoothing = 0);

}  // namespace batchsweep::train
