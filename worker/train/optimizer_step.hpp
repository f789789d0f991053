// SPDX-License-Identifier: Apache-2.0
// One update of a model's weights as the trial's options ask for it: forward and backward over the
// accumulated batches, averaging over the ranks, loss scaling, clipping, schedule, optimizer. Knows
// nothing of clocks, memory and where batches come from.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "sweeps/trial_spec.hpp"
#include "worker/train/data/batch.hpp"
#include "worker/train/grad_scaler.hpp"
#include "worker/train/optimizer.hpp"
#include "worker/train/schedule.hpp"

namespace batchsweep::train {

class DataParallel;
class Model;
class PrecisionPolicy;
enum class Gradients;

// A GPU may not have computed these yet when they are returned.
struct StepResult {
  at::Tensor loss;  // the mean over the accumulated batches, never scaled
  // Until the next step. 1: the loss scaler left the update out; undefined: there is no scaler.
  at::Tensor found_inf;
};

class OptimizerStep {
 public:
  // `spec` with its defaults filled in; its warmup_steps and timed_steps together are the length of
  // the schedule. `ranks`: all that train this model together; nullptr for one. `precision`,
  // `model` and `ranks` must outlive this.
  OptimizerStep(const sweeps::TrialSpec& spec, const PrecisionPolicy& precision, Model& model,
                DataParallel* ranks = nullptr);

  // Asks for one batch after the other, as many as are accumulated.
  StepResult run(const std::function<Batch()>& next_batch);

  [[nodiscard]] const Optimizer& optimizer() const { return *optimizer_; }
  [[nodiscard]] const GradScaler* scaler() const { return scaler_ ? &*scaler_ : nullptr; }

 private:
  at::Tensor accumulate_gradients(const Batch& batch, Gradients then);

  const PrecisionPolicy& precision_;
  Model& model_;
  DataParallel* ranks_;
  std::int64_t accumulated_batches_;
  std::optional<double> largest_norm_;
  double base_rate_;
  Schedule schedule_;
  std::unique_ptr<Optimizer> optimizer_;
  std::optional<GradScaler> scaler_;
  std::int64_t steps_ = 0;
};

}  // namespace batchsweep::train
