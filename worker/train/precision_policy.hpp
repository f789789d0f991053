// SPDX-License-Identifier: Apache-2.0
// What the names of precisions mean here, set by ourselves and not left to LibTorch's defaults,
// which differ by version and card. docs/training.md says it for people.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <optional>
#include <string>

#include "worker/train/device.hpp"

namespace batchsweep::train {

// The operators of LibTorch's autocast list compute in the lower type while one of these lives.
// Forward passes only: backward follows what forward did. The weights' lowered copies go when the
// outermost one ends, because the optimizer then changes the weights.
class Autocast {
 public:
  Autocast(c10::DeviceType device, at::ScalarType type, bool enabled);
  ~Autocast();
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  c10::DeviceType device_;
  bool was_enabled_;
  at::ScalarType was_type_;
};

class PrecisionPolicy {
 public:
  // Sets the process's switches. Throws Unsupported for a precision that this device does not
  // offer, TrialFailed for one that this version does not know.
  PrecisionPolicy(const std::string& precision, const Device& device);
  [[nodiscard]] Autocast for_forward() const {
    return {device_, autocast_.value_or(at::kBFloat16), autocast_.has_value()};
  }
  // fp16 rounds small gradients to 0 unless the loss is scaled.
  [[nodiscard]] bool scales_loss() const { return autocast_ == at::kHalf; }
  // false: emulated, the times say nothing about the hardware
  [[nodiscard]] bool native() const { return native_; }
  [[nodiscard]] const std::string& switches() const { return switches_; }

 private:
  c10::DeviceType device_;
  std::optional<at::ScalarType> autocast_;
  bool native_ = true;
  std::string switches_;
};

}  // namespace batchsweep::train
