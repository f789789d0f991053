// SPDX-License-Identifier: Apache-2.0
#include "worker/train/precision_policy.hpp"

#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>

#include <array>

#include "worker/train/trial_errors.hpp"

namespace batchsweep::train {
namespace {

// One API for all of it: LibTorch refuses to answer once the older switches and this one have been
// mixed.
void set_float32(at::Float32Backend backend, at::Float32Precision precision) {
  for (const auto op :
       {at::Float32Op::ALL, at::Float32Op::CONV, at::Float32Op::RNN, at::Float32Op::MATMUL}) {
    at::globalContext().setFloat32Precision(backend, op, precision);
  }
}

}  // namespace

Autocast::Autocast(c10::DeviceType device, at::ScalarType type, bool enabled)
    : device_(device),
      was_enabled_(at::autocast::is_autocast_enabled(device)),
      was_type_(at::autocast::get_autocast_dtype(device)) {
  at::autocast::set_autocast_enabled(device, enabled);
  at::autocast::set_autocast_dtype(device, type);
  at::autocast::increment_nesting();
}

Autocast::~Autocast() {
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(device_, was_enabled_);
  at::autocast::set_autocast_dtype(device_, was_type_);
}

PrecisionPolicy::PrecisionPolicy(const std::string& precision, const Device& device)
    : device_(device.where().type()), bf16_(precision == "bf16") {
  const bool tf32 = precision == "tf32";
  if (precision != "fp32" && !tf32 && !bf16_) {
    throw TrialFailed("precision " + precision +
                      " is not available in this version: use fp32, tf32 or bf16");
  }
  if (tf32 && !device.has_tf32())
    throw Unsupported("precision tf32 needs a GPU of compute capability 8.0 or higher");
  if (bf16_ && device.refuses_bf16()) {
    throw Unsupported(
        "precision bf16 needs compute capability 8.0 or higher: this GPU would only emulate it");
  }
  native_ = !bf16_ || device.has_bf16();
  set_float32(at::Float32Backend::CUDA,
              tf32 ? at::Float32Precision::TF32 : at::Float32Precision::IEEE);
  set_float32(at::Float32Backend::MKLDNN, at::Float32Precision::IEEE);
  switches_ =
      std::string("float32=") + (tf32 ? "tf32" : "ieee") + " autocast=" + (bf16_ ? "bf16" : "off");
}

}  // namespace batchsweep::train
