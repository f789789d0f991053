// SPDX-License-Identifier: Apache-2.0
#include "worker/train/layers.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include "worker/train/trial_errors.hpp"

namespace batchsweep::train {

Convolution::Convolution(Parameters& parameters, const std::string& name,
                         const ConvolutionShape& shape, Initial weight, Bias bias)
    : weight_(parameters.add(name + ".weight", {shape.out, shape.in, shape.kernel, shape.kernel},
                             weight)),
      stride_(shape.stride),
      padding_(shape.padding) {
  if (bias == Bias::kUniform) {
    bias_ = parameters.add(name + ".bias", {shape.out}, Initial::kUniformFanIn,
                           shape.in * shape.kernel * shape.kernel);
  }
}

at::Tensor Convolution::operator()(const at::Tensor& input) const {
  return at::conv2d(input, weight_, bias_, stride_, padding_);
}

Linear::Linear(Parameters& parameters, const std::string& name, std::int64_t in, std::int64_t out,
               Initial weight)
    : weight_(parameters.add(name + ".weight", {out, in}, weight)),
      bias_(weight == Initial::kUniformFanIn
                ? parameters.add(name + ".bias", {out}, weight, in)
                : parameters.add(name + ".bias", {out}, Initial::kZeros)) {}

at::Tensor Linear::operator()(const at::Tensor& input) const {
  return at::linear(input, weight_, bias_);
}

BatchNorm::BatchNorm(Parameters& parameters, const std::string& name, std::int64_t channels)
    : weight_(parameters.add(name + ".weight", {channels}, Initial::kOnes)),
      bias_(parameters.add(name + ".bias", {channels}, Initial::kZeros)),
      running_mean_(parameters.add_buffer(name + ".running_mean", {channels}, Initial::kZeros)),
      running_var_(parameters.add_buffer(name + ".running_var", {channels}, Initial::kOnes)),
      batches_(parameters.add_counter(name + ".num_batches_tracked")) {}

at::Tensor BatchNorm::operator()(const at::Tensor& input) const {
  if (input.numel() == input.size(1)) {
    throw Unsupported(fmt::format(
        "batch normalisation needs more than one value a channel, and batch size {} leaves one: "
        "use a larger batch_size or image_size",
        input.size(0)));
  }
  at::Tensor(batches_).add_(1);
  return at::batch_norm(input, weight_, bias_, running_mean_, running_var_, /*training=*/true,
                        /*momentum=*/0.1,
                        /*eps=*/1e-5, at::globalContext().userEnabledCuDNN());
}

LayerNorm::LayerNorm(Parameters& parameters, const std::string& name, std::int64_t width,
                     double epsilon)
    : weight_(parameters.add(name + ".weight", {width}, Initial::kOnes)),
      bias_(parameters.add(name + ".bias", {width}, Initial::kZeros)),
      epsilon_(epsilon) {}

at::Tensor LayerNorm::operator()(const at::Tensor& input) const {
  return at::layer_norm(input, weight_.sizes(), weight_, bias_, epsilon_);
}

}  // namespace batchsweep::train
