// SPDX-License-Identifier: Apache-2.0
// A model's tensors under their published names (torchvision's, Hugging Face's), made on the
// trial's device and initialised in place: no weight is filled twice, and none is copied.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <cstdint>
#include <string>
#include <vector>

namespace batchsweep::train {

struct NamedTensor {
  std::string name;
  at::Tensor tensor;
};

enum class Initial {
  kZeros,
  kOnes,
  kNormal002,         // N(0, 0.02): BERT
  kKaimingNormalOut,  // N(0, sqrt(2 / fan_out)): torchvision's residual networks
  kUniformFanIn,      // U(-1/sqrt(fan_in), 1/sqrt(fan_in)): PyTorch's default for linear and
                      // convolution layers
};

class Parameters {
 public:
  explicit Parameters(c10::Device device) : device_(device) {}

  // A trained tensor. For kUniformFanIn of a bias, fan_in is the layer's; 0: the tensor's own.
  at::Tensor add(const std::string& name, at::IntArrayRef shape, Initial initial,
                 std::int64_t fan_in = 0);
  // Not trained, but part of the model's state.
  at::Tensor add_buffer(const std::string& name, at::IntArrayRef shape, Initial initial);
  at::Tensor add_counter(const std::string& name);  // an int64 scalar

  [[nodiscard]] const std::vector<NamedTensor>& trained() const { return trained_; }
  [[nodiscard]] const std::vector<NamedTensor>& buffers() const { return buffers_; }
  [[nodiscard]] std::vector<at::Tensor> trained_tensors() const;
  [[nodiscard]] std::int64_t count() const;  // of trained numbers
  [[nodiscard]] c10::Device device() const { return device_; }

 private:
  c10::Device device_;
  std::vector<NamedTensor> trained_, buffers_;
};

}  // namespace batchsweep::train
