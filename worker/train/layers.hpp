// SPDX-License-Identifier: Apache-2.0
// The few layers that the models are written in: each names its tensors as PyTorch's module does
// and calls one ATen operator.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>

#include "worker/train/parameters.hpp"

namespace batchsweep::train {

// Height and width; one number for both.
struct Extent {
  std::int64_t height = 1, width = 1;
  constexpr Extent(std::int64_t both) : height(both), width(both) {}  // NOLINT: 3 reads as 3x3
  constexpr Extent(std::int64_t h, std::int64_t w) : height(h), width(w) {}
};

struct ConvolutionShape {
  std::int64_t in = 0, out = 0;
  Extent kernel = 1, stride = 1, padding = 0, dilation = 1;
};

class Convolution {
 public:
  // No bias where its start is not given.
  Convolution(Parameters& parameters, const std::string& name, const ConvolutionShape& shape,
              Initial weight, std::optional<Initial> bias);
  at::Tensor operator()(const at::Tensor& input) const;

 private:
  at::Tensor weight_, bias_;
  Extent stride_, padding_, dilation_;
};

class Linear {
 public:
  Linear(Parameters& parameters, const std::string& name, std::int64_t in, std::int64_t out,
         Initial weight, Initial bias);
  at::Tensor operator()(const at::Tensor& input) const;

 private:
  at::Tensor weight_, bias_;
};

class BatchNorm {
 public:
  BatchNorm(Parameters& parameters, const std::string& name, std::int64_t channels,
            double epsilon = 1e-5);
  // Throws Unsupported where a channel holds one value only: its variance is not defined.
  at::Tensor operator()(const at::Tensor& input) const;

 private:
  at::Tensor weight_, bias_, running_mean_, running_var_, batches_;
  double epsilon_;
  const bool* training_;
};

class LayerNorm {
 public:
  LayerNorm(Parameters& parameters, const std::string& name, std::int64_t width, double epsilon);
  at::Tensor operator()(const at::Tensor& input) const;

 private:
  at::Tensor weight_, bias_;
  double epsilon_;
};

class Dropout {
 public:
  Dropout(const Parameters& parameters, double probability)
      : probability_(probability), training_(&parameters.training()) {}
  at::Tensor operator()(const at::Tensor& input) const;
  // What attention drops of its weights.
  [[nodiscard]] double now() const { return *training_ ? probability_ : 0; }

 private:
  double probability_;
  const bool* training_;
};

// Scaled dot-product attention of `heads` heads over [n, length, width] tensors, back in their
// layout. `causal`: no token sees a later one.
[[nodiscard]] at::Tensor attend(const at::Tensor& query, const at::Tensor& key,
                                const at::Tensor& value, std::int64_t heads, const Dropout& dropout,
                                bool causal = false);

}  // namespace batchsweep::train
