// SPDX-License-Identifier: Apache-2.0
#include "worker/train/layers.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <array>

#include "worker/train/attention.hpp"
#include "worker/train/checkpoint.hpp"
#include "worker/train/trial_errors.hpp"

namespace batchsweep::train {
namespace {

std::array<std::int64_t, 2> pair(const Extent& extent) { return {extent.height, extent.width}; }

}  // namespace

Convolution::Convolution(Parameters& parameters, const std::string& name,
                         const ConvolutionShape& shape, Initial weight, std::optional<Initial> bias)
    : weight_(parameters.add(name + ".weight",
                             {shape.out, shape.in, shape.kernel.height, shape.kernel.width},
                             weight)),
      stride_(shape.stride),
      padding_(shape.padding),
      dilation_(shape.dilation) {
  if (!bias) return;
  bias_ = parameters.add(name + ".bias", {shape.out}, *bias,
                         shape.in * shape.kernel.height * shape.kernel.width);
}

at::Tensor Convolution::operator()(const at::Tensor& input) const {
  return at::conv2d(input, weight_, bias_, pair(stride_), pair(padding_), pair(dilation_));
}

Linear::Linear(Parameters& parameters, const std::string& name, std::int64_t in, std::int64_t out,
               Initial weight, Initial bias)
    : weight_(parameters.add(name + ".weight", {out, in}, weight)),
      bias_(parameters.add(name + ".bias", {out}, bias, in)) {}

at::Tensor Linear::operator()(const at::Tensor& input) const {
  return at::linear(input, weight_, bias_);
}

BatchNorm::BatchNorm(Parameters& parameters, const std::string& name, std::int64_t channels,
                     double epsilon)
    : weight_(parameters.add(name + ".weight", {channels}, Initial::kOnes)),
      bias_(parameters.add(name + ".bias", {channels}, Initial::kZeros)),
      running_mean_(parameters.add_buffer(name + ".running_mean", {channels}, Initial::kZeros)),
      running_var_(parameters.add_buffer(name + ".running_var", {channels}, Initial::kOnes)),
      batches_(parameters.add_counter(name + ".num_batches_tracked")),
      epsilon_(epsilon),
      training_(&parameters.training()) {}

at::Tensor BatchNorm::operator()(const at::Tensor& input) const {
  if (*training_ && input.numel() == input.size(1)) {
    throw Unsupported(fmt::format(
        "batch normalisation needs more than one value a channel, and batch size {} leaves one: "
        "use a larger batch_size or image_size",
        input.size(0)));
  }
  if (*training_ && !recomputing()) at::Tensor(batches_).add_(1);
  const double momentum = recomputing() ? 0 : 0.1;
  return at::batch_norm(input, weight_, bias_, running_mean_, running_var_, *training_, momentum,
                        epsilon_, at::globalContext().userEnabledCuDNN());
}

LayerNorm::LayerNorm(Parameters& parameters, const std::string& name, std::int64_t width,
                     double epsilon)
    : weight_(parameters.add(name + ".weight", {width}, Initial::kOnes)),
      bias_(parameters.add(name + ".bias", {width}, Initial::kZeros)),
      epsilon_(epsilon) {}

at::Tensor LayerNorm::operator()(const at::Tensor& input) const {
  return at::layer_norm(input, weight_.sizes(), weight_, bias_, epsilon_);
}

at::Tensor Dropout::operator()(const at::Tensor& input) const {
  return probability_ > 0 ? at::dropout(input, probability_, *training_) : input;
}

at::Tensor attend(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                  std::int64_t heads, const Dropout& dropout, bool causal) {
  const auto by_head = [&](const at::Tensor& x) {
    return x.view({x.size(0), x.size(1), heads, -1}).transpose(1, 2);
  };
  const at::Tensor q = by_head(query), k = by_head(key), v = by_head(value);
  require_attention(q, k, v, dropout.now(), causal);
  const at::Tensor context =
      at::scaled_dot_product_attention(q, k, v, /*attn_mask=*/{}, dropout.now(), causal);
  return context.transpose(1, 2).reshape(query.sizes());
}

}  // namespace batchsweep::train
