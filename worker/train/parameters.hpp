// SPDX-License-Identifier: Apache-2.0
// A model's tensors under their published names (torchvision's, Hugging Face's), made on the
// trial's device and initialised in place: no weight is filled twice, and none is copied.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace batchsweep::train {

struct NamedTensor {
  std::string name;
  at::Tensor tensor;
};

// What a tensor starts from. fan_in and fan_out: inputs and outputs that one number of the weight
// is summed over.
struct Initial {
  enum class Kind {
    kConstant,
    kNormal,
    kKaimingNormalOut,
    kKaimingNormalIn,
    kXavierUniform,
    kUniformFanIn
  };
  Kind kind = Kind::kConstant;
  double value = 0;  // of kConstant; the standard deviation of kNormal
  bool operator==(const Initial&) const = default;

  static constexpr Initial normal(double deviation) { return {Kind::kNormal, deviation}; }
  static const Initial kZeros, kOnes;
  static const Initial kKaimingNormalOut;  // N(0, sqrt(2 / fan_out))
  static const Initial kKaimingNormalIn;   // N(0, sqrt(2 / fan_in))
  static const Initial kXavierUniform;     // U(-b, b), b = sqrt(6 / (fan_in + fan_out))
  // U(-1/sqrt(fan_in), 1/sqrt(fan_in)): PyTorch's default for linear and convolution layers
  static const Initial kUniformFanIn;
};
inline constexpr Initial Initial::kZeros{Kind::kConstant, 0};
inline constexpr Initial Initial::kOnes{Kind::kConstant, 1};
inline constexpr Initial Initial::kKaimingNormalOut{Kind::kKaimingNormalOut};
inline constexpr Initial Initial::kKaimingNormalIn{Kind::kKaimingNormalIn};
inline constexpr Initial Initial::kXavierUniform{Kind::kXavierUniform};
inline constexpr Initial Initial::kUniformFanIn{Kind::kUniformFanIn};

// How a model's tensors are made and its blocks run.
struct ModelOptions {
  c10::Device device = c10::Device(c10::kCPU);
  c10::ScalarType type = c10::ScalarType::Float;  // of weights and buffers
  bool channels_last = false;                     // the layout of convolution weights
  bool checkpointing = false;                     // see checkpoint.hpp
};

class Parameters {
 public:
  explicit Parameters(const ModelOptions& options) : options_(options) {}
  // Layers keep the address of training().
  Parameters(const Parameters&) = delete;
  Parameters& operator=(const Parameters&) = delete;

  // A trained tensor. For kUniformFanIn of a bias, fan_in is the layer's; 0: the tensor's own.
  at::Tensor add(const std::string& name, at::IntArrayRef shape, Initial initial,
                 std::int64_t fan_in = 0);
  // Not trained, but part of the model's state.
  at::Tensor add_buffer(const std::string& name, at::IntArrayRef shape, Initial initial);
  at::Tensor add_counter(const std::string& name);  // an int64 scalar
  // Tensors that exist already.
  void adopt(const std::string& name, const at::Tensor& tensor) {
    trained_.push_back({name, tensor});
  }
  void adopt_buffer(const std::string& name, const at::Tensor& tensor) {
    buffers_.push_back({name, tensor});
  }

  // Files of the reference also hold tensors of this name (a pattern with "*"): copies of others,
  // or constants.
  void ignore_in_files(std::string_view pattern) { ignored_.emplace_back(pattern); }
  // Published files leave this part out in front of every name.
  void set_optional_prefix(std::string prefix) { optional_prefix_ = std::move(prefix); }
  [[nodiscard]] const std::vector<std::string>& ignored_in_files() const { return ignored_; }
  [[nodiscard]] const std::string& optional_prefix() const { return optional_prefix_; }

  // Dropout drops and batch normalisation uses the batch's own moments; false: evaluation.
  [[nodiscard]] const bool& training() const { return training_; }
  void set_training(bool training) { training_ = training; }

  [[nodiscard]] const std::vector<NamedTensor>& trained() const { return trained_; }
  [[nodiscard]] const std::vector<NamedTensor>& buffers() const { return buffers_; }
  [[nodiscard]] std::vector<at::Tensor> trained_tensors() const;
  [[nodiscard]] std::int64_t count() const;  // of trained numbers
  [[nodiscard]] const ModelOptions& options() const { return options_; }

 private:
  ModelOptions options_;
  bool training_ = true;
  std::vector<NamedTensor> trained_, buffers_;
  std::vector<std::string> ignored_;
  std::string optional_prefix_;
};

}  // namespace batchsweep::train
