// SPDX-License-Identifier: Apache-2.0
// The few layers that the models are written in: each names its tensors as PyTorch's module does
// and calls one ATen operator. Training only: there is no evaluation mode.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

#include "worker/train/parameters.hpp"

namespace batchsweep::train {

struct ConvolutionShape {
  std::int64_t in = 0, out = 0, kernel = 1, stride = 1, padding = 0;
};

class Convolution {
 public:
  enum class Bias { kNone, kUniform };
  Convolution(Parameters& parameters, const std::string& name, const ConvolutionShape& shape,
              Initial weight, Bias bias);
  at::Tensor operator()(const at::Tensor& input) const;

 private:
  at::Tensor weight_, bias_;
  std::int64_t stride_, padding_;
};

class Linear {
 public:
  // The bias starts at zero beside a normal weight (BERT), else as PyTorch's default.
  Linear(Parameters& parameters, const std::string& name, std::int64_t in, std::int64_t out,
         Initial weight);
  at::Tensor operator()(const at::Tensor& input) const;

 private:
  at::Tensor weight_, bias_;
};

class BatchNorm {
 public:
  BatchNorm(Parameters& parameters, const std::string& name, std::int64_t channels);
  // Throws Unsupported where a channel holds one value only: its variance is not defined.
  at::Tensor operator()(const at::Tensor& input) const;

 private:
  at::Tensor weight_, bias_, running_mean_, running_var_, batches_;
};

class LayerNorm {
 public:
  LayerNorm(Parameters& parameters, const std::string& name, std::int64_t width, double epsilon);
  at::Tensor operator()(const at::Tensor& input) const;

 private:
  at::Tensor weight_, bias_;
  double epsilon_;
};

}  // namespace batchsweep::train
