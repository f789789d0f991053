// SPDX-License-Identifier: Apache-2.0
// One random batch that stays on the device: the computation alone, no reading, no copying.
#include <ATen/ATen.h>

#include "sweeps/trial_defaults.hpp"
#include "worker/train/data/data_source.hpp"
#include "worker/train/data/masked_tokens.hpp"
#include "worker/train/data/sample_order.hpp"
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

Batch random_images(const sweeps::TrialSpec& spec, std::int64_t channels, c10::Device device) {
  const auto images = at::randn({spec.batch_size, channels, *spec.image_height, *spec.image_width},
                                at::TensorOptions().device(device));
  const auto classes = at::randint(*spec.num_classes, {spec.batch_size},
                                   at::TensorOptions().dtype(at::kLong).device(device));
  return {.input = images, .target = classes, .samples = spec.batch_size, .tokens = 0};
}

Batch random_tokens(const sweeps::TrialSpec& spec, std::int64_t vocabulary, std::uint64_t seed,
                    c10::Device device) {
  const std::int64_t length = *spec.sequence_length;
  const auto tokens =
      at::randint(kFirstByteToken, vocabulary, {spec.batch_size, length}, at::kLong);
  const auto targets = at::empty_like(tokens);
  for (std::int64_t i = 0; i < spec.batch_size; ++i) {
    const auto row = [&](const at::Tensor& of) {
      return std::span(of.data_ptr<std::int64_t>() + i * length, static_cast<std::size_t>(length));
    };
    hide_tokens(row(tokens), row(targets), vocabulary,
                mixed_seed(seed, static_cast<std::uint64_t>(i)));
  }
  return {.input = tokens.to(device),
          .target = targets.to(device),
          .samples = spec.batch_size,
          .tokens = spec.batch_size * length};
}

}  // namespace

std::unique_ptr<DataSource> open_synthetic(const sweeps::TrialSpec& spec, std::uint64_t seed,
                                           c10::Device device) {
  const sweeps::ModelInfo* model = sweeps::model_of(spec);
  if (model == nullptr) throw TrialFailed("synthetic data is made for built-in models only");
  switch (model->domain) {
    case sweeps::Domain::kImage:
      return std::make_unique<ResidentBatch>(random_images(spec, model->channels, device));
    case sweeps::Domain::kText:
      return std::make_unique<ResidentBatch>(random_tokens(spec, model->num_classes, seed, device));
  }
  return nullptr;
}

}  // namespace batchsweep::train
