// SPDX-License-Identifier: Apache-2.0
#include "worker/train/attention.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include "worker/train/trial_errors.hpp"

namespace batchsweep::train {
namespace {

const char* the_one_left() {
  const at::Context& context = at::globalContext();
  if (context.userEnabledFlashSDP()) return "flash";
  if (context.userEnabledMemEfficientSDP()) return "efficient";
  return "cudnn";
}

}  // namespace

void choose_attention(const std::string& attention, c10::Device device) {
  if (device.is_cpu() && (attention == "efficient" || attention == "cudnn")) {
    throw Unsupported(
        fmt::format("attention {} is a kernel of GPUs: CPUs have math and flash", attention));
  }
  const auto use = [&](const char* name) { return attention == "auto" || attention == name; };
  at::Context& context = at::globalContext();
  context.setSDPUseMath(use("math"));
  context.setSDPUseFlash(use("flash"));
  context.setSDPUseMemEfficient(use("efficient"));
  context.setSDPUseCuDNN(use("cudnn"));
}

void require_attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                       double dropout, bool causal) {
  if (at::globalContext().userEnabledMathSDP()) return;  // it can do everything
  if (query.is_cpu() && dropout > 0) {
    throw Unsupported("attention flash has no dropout on CPUs: set dropout = 0");
  }
  try {
    static_cast<void>(at::_fused_sdp_choice(query, key, value, /*attn_mask=*/{}, dropout, causal));
  } catch (const c10::Error&) {
    throw Unsupported(fmt::format(
        "attention {} cannot do this trial on this device: {} heads of {} in {}, dropout {:g}",
        the_one_left(), query.size(1), query.size(3), c10::toString(query.scalar_type()), dropout));
  }
}

}  // namespace batchsweep::train
