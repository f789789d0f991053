// SPDX-License-Identifier: Apache-2.0
#include "worker/train/parameters.hpp"

#include <ATen/ATen.h>

#include <cmath>

namespace batchsweep::train {
namespace {

// Inputs (dimension 1) or outputs (dimension 0) that one number of the weight is summed over.
std::int64_t fan(const at::Tensor& weight, std::int64_t dimension) {
  const std::int64_t taps = weight.dim() > 2 ? weight[0][0].numel() : 1;
  return weight.size(dimension) * taps;
}

void fill(at::Tensor& tensor, Initial initial, std::int64_t fan_in) {
  switch (initial) {
    case Initial::kZeros:
      tensor.zero_();
      return;
    case Initial::kOnes:
      tensor.fill_(1);
      return;
    case Initial::kNormal002:
      tensor.normal_(0, 0.02);
      return;
    case Initial::kKaimingNormalOut:
      tensor.normal_(0, std::sqrt(2.0 / static_cast<double>(fan(tensor, 0))));
      return;
    case Initial::kUniformFanIn: {
      const double bound = 1 / std::sqrt(static_cast<double>(fan_in > 0 ? fan_in : fan(tensor, 1)));
      tensor.uniform_(-bound, bound);
      return;
    }
  }
}

}  // namespace

at::Tensor Parameters::add(const std::string& name, at::IntArrayRef shape, Initial initial,
                           std::int64_t fan_in) {
  at::Tensor tensor = at::empty(shape, at::TensorOptions().dtype(at::kFloat).device(device_));
  fill(tensor, initial, fan_in);
  tensor.requires_grad_(true);
  trained_.push_back({name, tensor});
  return tensor;
}

at::Tensor Parameters::add_buffer(const std::string& name, at::IntArrayRef shape, Initial initial) {
  at::Tensor tensor = at::empty(shape, at::TensorOptions().dtype(at::kFloat).device(device_));
  fill(tensor, initial, 0);
  buffers_.push_back({name, tensor});
  return tensor;
}

at::Tensor Parameters::add_counter(const std::string& name) {
  buffers_.push_back({name, at::zeros({}, at::TensorOptions().dtype(at::kLong).device(device_))});
  return buffers_.back().tensor;
}

std::vector<at::Tensor> Parameters::trained_tensors() const {
  std::vector<at::Tensor> tensors;
  tensors.reserve(trained_.size());
  for (const NamedTensor& parameter : trained_) tensors.push_back(parameter.tensor);
  return tensors;
}

std::int64_t Parameters::count() const {
  std::int64_t sum = 0;
  for (const NamedTensor& parameter : trained_) sum += parameter.tensor.numel();
  return sum;
}

}  // namespace batchsweep::train
