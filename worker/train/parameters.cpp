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

at::Tensor make(const ModelOptions& options, at::IntArrayRef shape) {
  const bool last = options.channels_last && shape.size() == 4;
  return at::empty(shape, at::TensorOptions()
                              .dtype(options.type)
                              .device(options.device)
                              .memory_format(last ? at::MemoryFormat::ChannelsLast
                                                  : at::MemoryFormat::Contiguous));
}

void fill(at::Tensor& tensor, Initial initial, std::int64_t fan_in) {
  const auto in = [&] { return static_cast<double>(fan_in > 0 ? fan_in : fan(tensor, 1)); };
  const auto out = [&] { return static_cast<double>(fan(tensor, 0)); };
  switch (initial.kind) {
    case Initial::Kind::kConstant:
      tensor.fill_(initial.value);
      return;
    case Initial::Kind::kNormal:
      tensor.normal_(0, initial.value);
      return;
    case Initial::Kind::kKaimingNormalOut:
      tensor.normal_(0, std::sqrt(2 / out()));
      return;
    case Initial::Kind::kKaimingNormalIn:
      tensor.normal_(0, std::sqrt(2 / in()));
      return;
    case Initial::Kind::kXavierUniform: {
      const double bound = std::sqrt(6 / (in() + out()));
      tensor.uniform_(-bound, bound);
      return;
    }
    case Initial::Kind::kUniformFanIn: {
      const double bound = 1 / std::sqrt(in());
      tensor.uniform_(-bound, bound);
      return;
    }
  }
}

}  // namespace

at::Tensor Parameters::add(const std::string& name, at::IntArrayRef shape, Initial initial,
                           std::int64_t fan_in) {
  at::Tensor tensor = make(options_, shape);
  if (options_.type == at::kFloat && tensor.is_contiguous()) {
    fill(tensor, initial, fan_in);
  } else {  // the same numbers whatever the type and the layout
    at::Tensor plain = at::empty(shape, at::TensorOptions().device(options_.device));
    fill(plain, initial, fan_in);
    tensor.copy_(plain);
  }
  tensor.requires_grad_(true);
  trained_.push_back({name, tensor});
  return tensor;
}

at::Tensor Parameters::add_buffer(const std::string& name, at::IntArrayRef shape, Initial initial) {
  at::Tensor tensor = make(options_, shape);
  fill(tensor, initial, 0);
  buffers_.push_back({name, tensor});
  return tensor;
}

at::Tensor Parameters::add_counter(const std::string& name) {
  buffers_.push_back(
      {name, at::zeros({}, at::TensorOptions().dtype(at::kLong).device(options_.device))});
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
