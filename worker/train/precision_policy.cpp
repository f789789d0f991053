// SPDX-License-Identifier: Apache-2.0
#include "worker/train/precision_policy.hpp"

#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <fmt/format.h>

#include <array>
#include <string_view>

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

struct Meaning {
  std::string_view precision;
  at::ScalarType type = at::kFloat;  // of convolutions and products
  bool autocast = false;             // only theirs: the weights stay in fp32
  bool tf32 = false;
};
constexpr std::array kMeanings{
    Meaning{.precision = "fp32"},
    Meaning{.precision = "tf32", .tf32 = true},
    Meaning{.precision = "bf16", .type = at::kBFloat16, .autocast = true},
    Meaning{.precision = "fp16", .type = at::kHalf, .autocast = true},
    Meaning{.precision = "bf16-true", .type = at::kBFloat16},
};

const Meaning& meaning_of(const std::string& precision) {
  for (const Meaning& meaning : kMeanings) {
    if (meaning.precision == precision) return meaning;
  }
  throw TrialFailed(fmt::format(
      "precision {} is not available in this version: use fp32, tf32, bf16, fp16 or bf16-true",
      precision));
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
    : device_(device.where().type()) {
  const Meaning& meaning = meaning_of(precision);
  if (meaning.tf32 && !device.has_tf32())
    throw Unsupported("precision tf32 needs a GPU of compute capability 8.0 or higher");
  if (meaning.type == at::kBFloat16 && device.refuses_bf16()) {
    throw Unsupported(
        fmt::format("precision {} needs compute capability 8.0 or higher: this GPU would only "
                    "emulate it",
                    precision));
  }
  if (meaning.autocast) autocast_ = meaning.type;
  native_ = meaning.type == at::kBFloat16 ? device.has_bf16()
            : meaning.type == at::kHalf   ? device.has_fp16()
                                          : true;
  set_float32(at::Float32Backend::CUDA,
              meaning.tf32 ? at::Float32Precision::TF32 : at::Float32Precision::IEEE);
  set_float32(at::Float32Backend::MKLDNN, at::Float32Precision::IEEE);
  switches_ = fmt::format("float32={} autocast={} weights={}", meaning.tf32 ? "tf32" : "ieee",
                          meaning.autocast ? precision : "off",
                          meaning.type == at::kBFloat16 && !meaning.autocast ? "bf16" : "fp32");
}

}  // namespace batchsweep::train
