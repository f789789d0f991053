// SPDX-License-Identifier: Apache-2.0
// Dynamic loss scaling for fp16 (Micikevicius et al., 2017): small gradients would round to 0 in
// fp16, so the loss is multiplied up and the gradients are divided again. The rules and numbers are
// torch.amp.GradScaler's. All state stays on the device: nothing here waits for it.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <vector>

namespace batchsweep::train {

class GradScaler {
 public:
  static constexpr double kFirstScale = 65536;
  static constexpr double kGrowth = 2, kBackoff = 0.5;
  static constexpr int kGrowthInterval = 2000;  // steps without an overflow before it grows

  explicit GradScaler(c10::Device device, double first_scale = kFirstScale);

  [[nodiscard]] at::Tensor scaled(const at::Tensor& loss) const;
  // Divides by the scale, in place. Sets found_inf() to 1 where a gradient is not finite, else to
  // 0: the optimizer leaves its update out for 1.
  void unscale(const std::vector<at::Tensor>& gradients);
  // Once a step, behind the optimizer: a smaller scale after an overflow, a larger one after many
  // steps without.
  void update();

  [[nodiscard]] const at::Tensor& scale() const { return scale_; }
  [[nodiscard]] const at::Tensor& growth_tracker() const { return growth_tracker_; }
  [[nodiscard]] const at::Tensor& found_inf() const { return found_inf_; }

 private:
  at::Tensor scale_, growth_tracker_, found_inf_;
};

}  // namespace batchsweep::train
