// SPDX-License-Identifier: Apache-2.0
// One random batch that stays on the device: the computation alone, no reading, no copying.
#include <ATen/ATen.h>

#include "sweeps/trial_defaults.hpp"
#include "worker/train/data/data_source.hpp"
#include "worker/train/data/masked_tokens.hpp"
#include "worker/train/data/sample_order.hpp"
#include "worker/train/data/token_targets.hpp"
#include "worker/train/trial_errors.hpp"

namespace batchsweep::train {
namespace {

class ResidentBatch final : public DataSource {
 public:
  explicit ResidentBatch(Batch batch) : batch_(std::move(batch)) {}
  Batch next() override { return batch_; }

 private:
  Batch batch_;
};

at::Tensor random_integers(std::int64_t from, std::int64_t below, at::IntArrayRef shape) {
  return at::randint(from, below, shape, at::kLong);
}

Batch random_images(const DataRequest& request, const sweeps::ModelInfo& model) {
  const sweeps::TrialSpec& spec = request.spec;
  const std::int64_t height = *spec.image_height, width = *spec.image_width;
  const auto images = at::randn({spec.batch_size, model.channels, height, width});
  const auto targets = sweeps::task_of(spec) == sweeps::Task::kSegment
                           ? random_integers(0, *spec.num_classes, {spec.batch_size, height, width})
                           : random_integers(0, *spec.num_classes, {spec.batch_size});
  return {.input = images.to(request.device, request.type).contiguous(request.format),
          .target = targets.to(request.device),
          .samples = spec.batch_size,
          .tokens = 0};
}

// Hides or shifts tokens in place, row by row.
void set_all_targets(const DataRequest& request, std::int64_t vocabulary, const at::Tensor& tokens,
                     const at::Tensor& targets) {
  const std::int64_t length = tokens.size(1);
  for (std::int64_t i = 0; i < tokens.size(0); ++i) {
    const auto row = [&](const at::Tensor& of) {
      return std::span(of.data_ptr<std::int64_t>() + i * length, static_cast<std::size_t>(length));
    };
    set_targets(sweeps::task_of(request.spec), row(tokens), row(targets), vocabulary,
                mixed_seed(request.seed, static_cast<std::uint64_t>(i)));
  }
}

Batch random_tokens(const DataRequest& request, const sweeps::ModelInfo& model) {
  const std::int64_t batch = request.spec.batch_size, length = *request.spec.sequence_length;
  const auto tokens = random_integers(kFirstByteToken, model.vocabulary, {batch, length});
  at::Tensor targets;
  switch (sweeps::task_of(request.spec)) {
    case sweeps::Task::kClassify:
    case sweeps::Task::kSegment:
      targets = random_integers(0, *request.spec.num_classes, {batch});
      break;
    case sweeps::Task::kAnswerSpan:
      targets = std::get<0>(random_integers(0, length, {batch, 2}).sort(1));
      break;
    case sweeps::Task::kTranslate:
      targets = random_integers(kFirstByteToken, model.vocabulary, {batch, length});
      break;
    case sweeps::Task::kMaskedTokens:
    case sweeps::Task::kNextToken:
      targets = at::empty_like(tokens);
      set_all_targets(request, model.vocabulary, tokens, targets);
      break;
  }
  return {.input = tokens.to(request.device),
          .target = targets.to(request.device),
          .samples = batch,
          .tokens = batch * length};
}

}  // namespace

std::unique_ptr<DataSource> open_synthetic(const DataRequest& request) {
  const sweeps::ModelInfo* model = sweeps::model_of(request.spec);
  if (model == nullptr) throw TrialFailed("synthetic data is made for built-in models only");
  switch (model->domain) {
    case sweeps::Domain::kImage:
      return std::make_unique<ResidentBatch>(random_images(request, *model));
    case sweeps::Domain::kText:
      return std::make_unique<ResidentBatch>(random_tokens(request, *model));
  }
  return nullptr;
}

}  // namespace batchsweep::train
