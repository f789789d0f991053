// SPDX-License-Identifier: Apache-2.0
#include "worker/train/optimizer_step.hpp"

#include <ATen/ATen.h>

#include "worker/train/clip_gradients.hpp"
#include "worker/train/data_parallel.hpp"
#include "worker/train/models/model.hpp"
#include "worker/train/precision_policy.hpp"

namespace batchsweep::train {

OptimizerStep::OptimizerStep(const sweeps::TrialSpec& spec, const PrecisionPolicy& precision,
                             Model& model, DataParallel* ranks)
    : precision_(precision),
      model_(model),
      ranks_(ranks),
      accumulated_batches_(spec.gradient_accumulation_steps),
      largest_norm_(spec.clip_grad_norm),
      base_rate_(*spec.learning_rate),
      schedule_(spec.schedule, spec.warmup_steps + spec.timed_steps),
      optimizer_(make_optimizer(spec, model.parameters().trained_tensors())) {
  if (precision.scales_loss()) scaler_.emplace(model.parameters().options().device);
}

StepResult OptimizerStep::run(const std::function<Batch()>& next_batch) {
  optimizer_->zero_grad();
  at::Tensor loss;
  for (std::int64_t i = 0; i < accumulated_batches_; ++i) {
    const bool last = i + 1 == accumulated_batches_;
    const at::Tensor part =
        accumulate_gradients(next_batch(), last ? Gradients::kAveraged : Gradients::kKept);
    loss = loss.defined() ? loss + part : part;
  }
  const std::vector<at::Tensor>& gradients = optimizer_->collect_gradients();
  if (scaler_) scaler_->unscale(gradients);
  if (largest_norm_) clip_gradients(gradients, *largest_norm_);
  optimizer_->set_learning_rate(base_rate_ * schedule_.factor(steps_++));
  if (!scaler_) {
    optimizer_->step();
    return {.loss = loss, .found_inf = {}};
  }
  optimizer_->step(scaler_->found_inf());
  scaler_->update();
  return {.loss = loss, .found_inf = scaler_->found_inf()};
}

// Returns the batch's part of the mean loss.
at::Tensor OptimizerStep::accumulate_gradients(const Batch& batch, Gradients then) {
  if (ranks_ != nullptr) ranks_->before_forward(then);
  at::Tensor loss;
  {
    const Autocast autocast = precision_.for_forward();
    loss = model_.loss(batch);
    if (accumulated_batches_ > 1) loss = loss / static_cast<double>(accumulated_batches_);
  }
  const at::Tensor lowered = scaler_ ? scaler_->scaled(loss) : loss;
  if (ranks_ != nullptr) ranks_->before_backward(lowered, then);
  lowered.backward();
  return loss.detach();
}

}  // namespace batchsweep::train
