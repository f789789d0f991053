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

std::vector<std::int64_t> batch_of(const sweeps::TrialSpec& spec,
                                   std::vector<std::int64_t> sample) {
  sample.insert(sample.begin(), spec.batch_size);
  return sample;
}

Batch random_images(const DataRequest& request, std::int64_t channels) {
  const sweeps::TrialSpec& spec = request.spec;
  const bool script = !spec.input_shape.empty();
  const std::int64_t height = script ? 0 : *spec.image_height,
                     width = script ? 0 : *spec.image_width;
  const auto images =
      at::randn(batch_of(spec, script ? spec.input_shape : std::vector{channels, height, width}));
  const auto targets = sweeps::task_of(spec) == sweeps::Task::kSegment
                           ? random_integers(0, *spec.num_classes, {spec.batch_size, height, width})
                           : random_integers(0, *spec.num_classes, {spec.batch_size});
  const at::Tensor input = images.to(request.device, request.type);
  return {.input = input.dim() == 4 ? input.contiguous(request.format) : input,
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

Batch random_tokens(const DataRequest& request, std::int64_t vocabulary) {
  const std::int64_t batch = request.spec.batch_size, length = *request.spec.sequence_length;
  const std::int64_t first = kFirstByteToken < vocabulary ? kFirstByteToken : 0;
  const auto tokens = random_integers(first, vocabulary, {batch, length});
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
      targets = random_integers(first, vocabulary, {batch, length});
      break;
    case sweeps::Task::kMaskedTokens:
    case sweeps::Task::kNextToken:
      targets = at::empty_like(tokens);
      set_all_targets(request, vocabulary, tokens, targets);
      break;
  }
  return {.input = tokens.to(request.device),
          .target = targets.to(request.device),
          .samples = batch,
          .tokens = batch * length};
}

}  // namespace

std::unique_ptr<DataSource> open_synthetic(const DataRequest& request) {
  const auto input = sweeps::input_of(request.spec);
  if (!input) throw TrialFailed("synthetic data needs to know the model's input");
  switch (input->domain) {
    case sweeps::Domain::kImage:
      return std::make_unique<ResidentBatch>(random_images(request, input->channels));
    case sweeps::Domain::kText:
      return std::make_unique<ResidentBatch>(random_tokens(request, input->vocabulary));
  }
  return nullptr;
}

}  // namespace batchsweep::train
