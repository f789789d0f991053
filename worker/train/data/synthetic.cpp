// SPDX-License-Identifier: Apache-2.0
// One random batch that stays on the device: the computation alone, no reading, no copying.
#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <functional>

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

// Draws sample by sample, each from a generator of its own: what a sample is follows from the
// trial's seed and its number alone, so that several ranks see what one would.
void for_each_sample(const DataRequest& request,
                     const std::function<void(std::int64_t, at::Generator&)>& draw) {
  const Share share = request.share();
  for (std::int64_t i = 0; i < share.batch_size; ++i) {
    const auto number = static_cast<std::uint64_t>(share.number_of(i));
    at::Generator random = at::detail::createCPUGenerator(mixed_seed(~request.seed, number));
    draw(i, random);
  }
}

at::Tensor empty_batch(const sweeps::TrialSpec& spec, std::vector<std::int64_t> sample,
                       at::ScalarType type) {
  sample.insert(sample.begin(), spec.batch_size);
  return at::empty(sample, type);
}

Batch random_images(const DataRequest& request, std::int64_t channels) {
  const sweeps::TrialSpec& spec = request.spec;
  const bool script = !spec.input_shape.empty();
  const std::int64_t height = script ? 0 : *spec.image_height,
                     width = script ? 0 : *spec.image_width;
  const at::Tensor images = empty_batch(
      spec, script ? spec.input_shape : std::vector{channels, height, width}, at::kFloat);
  const bool of_pixels = sweeps::task_of(spec) == sweeps::Task::kSegment;
  const at::Tensor targets = empty_batch(
      spec, of_pixels ? std::vector{height, width} : std::vector<std::int64_t>(), at::kLong);
  for_each_sample(request, [&](std::int64_t i, at::Generator& random) {
    images[i].normal_(0, 1, random);
    targets[i].random_(0, *spec.num_classes, random);
  });
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
  const Share share = request.share();
  for (std::int64_t i = 0; i < tokens.size(0); ++i) {
    const auto row = [&](const at::Tensor& of) {
      return std::span(of.data_ptr<std::int64_t>() + i * length, static_cast<std::size_t>(length));
    };
    set_targets(sweeps::task_of(request.spec), row(tokens), row(targets), vocabulary,
                mixed_seed(request.seed, static_cast<std::uint64_t>(share.number_of(i))));
  }
}

Batch random_tokens(const DataRequest& request, std::int64_t vocabulary) {
  const sweeps::TrialSpec& spec = request.spec;
  const std::int64_t length = *spec.sequence_length;
  const std::int64_t first = kFirstByteToken < vocabulary ? kFirstByteToken : 0;
  const at::Tensor tokens = empty_batch(spec, {length}, at::kLong);
  at::Tensor targets = at::empty_like(tokens);
  std::int64_t from = first, below = vocabulary;
  switch (sweeps::task_of(spec)) {
    case sweeps::Task::kClassify:
    case sweeps::Task::kSegment:
      targets = empty_batch(spec, {}, at::kLong);
      from = 0;
      below = *spec.num_classes;
      break;
    case sweeps::Task::kAnswerSpan:
      targets = empty_batch(spec, {2}, at::kLong);
      from = 0;
      below = length;
      break;
    case sweeps::Task::kTranslate:
    case sweeps::Task::kMaskedTokens:
    case sweeps::Task::kNextToken:
      break;
  }
  for_each_sample(request, [&](std::int64_t i, at::Generator& random) {
    tokens[i].random_(first, vocabulary, random);
    targets[i].random_(from, below, random);
  });
  switch (sweeps::task_of(spec)) {
    case sweeps::Task::kAnswerSpan:
      targets = std::get<0>(targets.sort(1));
      break;
    case sweeps::Task::kMaskedTokens:
    case sweeps::Task::kNextToken:
      set_all_targets(request, vocabulary, tokens, targets);
      break;
    case sweeps::Task::kClassify:
    case sweeps::Task::kSegment:
    case sweeps::Task::kTranslate:
      break;
  }
  return {.input = tokens.to(request.device),
          .target = targets.to(request.device),
          .samples = spec.batch_size,
          .tokens = spec.batch_size * length};
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
