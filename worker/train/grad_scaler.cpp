// SPDX-License-Identifier: Apache-2.0
#include "worker/train/grad_scaler.hpp"

#include <ATen/ATen.h>

namespace batchsweep::train {

GradScaler::GradScaler(c10::Device device, double first_scale)
    : scale_(at::full({}, first_scale, at::TensorOptions().dtype(at::kFloat).device(device))),
      growth_tracker_(at::zeros({}, at::TensorOptions().dtype(at::kInt).device(device))),
      found_inf_(at::zeros({}, at::TensorOptions().dtype(at::kFloat).device(device))) {}

at::Tensor GradScaler::scaled(const at::Tensor& loss) const { return loss * scale_; }

void GradScaler::unscale(const std::vector<at::Tensor>& gradients) {
  const at::NoGradGuard no_grad;
  found_inf_.zero_();
  // Exact: scales are powers of two.
  at::_amp_foreach_non_finite_check_and_unscale_(gradients, found_inf_, scale_.reciprocal());
}

void GradScaler::update() {
  at::_amp_update_scale_(scale_, growth_tracker_, found_inf_, kGrowth, kBackoff, kGrowthInterval);
}

}  // namespace batchsweep::train
