// SPDX-License-Identifier: Apache-2.0
#include "worker/train/data/token_sequences.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include "sweeps/trial_defaults.hpp"
#include "worker/train/data/sample_order.hpp"
#include "worker/train/data/token_targets.hpp"
#include "worker/train/trial_errors.hpp"

namespace batchsweep::train {
namespace {

class TokenSequences final : public DataSource {
 public:
  TokenSequences(const DataRequest& request, std::unique_ptr<TokenStore> store,
                 std::int64_t vocabulary)
      : store_(std::move(store)),
        length_(*request.spec.sequence_length),
        order_(store_->size() / length_, request.share(), request.seed,
               fmt::format("{} ({} tokens in sequences of {})", request.spec.data, store_->size(),
                           length_)),
        task_(sweeps::task_of(request.spec)),
        batch_size_(request.spec.batch_size),
        vocabulary_(vocabulary),
        seed_(request.seed),
        device_(request.device) {}

  Batch next() override {
    const auto tokens = at::empty({batch_size_, length_}, at::kLong);
    const auto targets = at::empty_like(tokens);
    for (std::int64_t i = 0; i < batch_size_; ++i)
      fill(row(tokens, i), row(targets, i), order_.next());
    return {.input = tokens.to(device_),
            .target = targets.to(device_),
            .samples = batch_size_,
            .tokens = batch_size_ * length_};
  }

 private:
  using Row = std::span<std::int64_t>;

  Row row(const at::Tensor& of, std::int64_t index) const {
    return {of.data_ptr<std::int64_t>() + index * length_, static_cast<std::size_t>(length_)};
  }
  void fill(Row tokens, Row targets, const SampleOrder::Place& place) const {
    store_->read(place.sample * length_, tokens);
    set_targets(task_, tokens, targets, vocabulary_,
                mixed_seed(seed_, static_cast<std::uint64_t>(place.number)));
  }

  std::unique_ptr<TokenStore> store_;
  std::int64_t length_;
  SampleOrder order_;
  sweeps::Task task_;
  std::int64_t batch_size_, vocabulary_;
  std::uint64_t seed_;
  c10::Device device_;
};

}  // namespace

void check_takes_text(const DataRequest& request) {
  const sweeps::TrialSpec& spec = request.spec;
  const sweeps::ModelInfo* model = sweeps::model_of(spec);
  if (model == nullptr || model->domain != sweeps::Domain::kText) {
    throw TrialFailed(fmt::format("{} is text, {} is no model of language", spec.data, spec.model));
  }
}

std::unique_ptr<DataSource> open_sequences(const DataRequest& request,
                                           std::unique_ptr<TokenStore> store) {
  check_takes_text(request);
  const sweeps::TrialSpec& spec = request.spec;
  if (store->size() < *spec.sequence_length) {
    throw TrialFailed(fmt::format(
        "{} holds {} tokens, fewer than one sequence of {}: give more of it or a smaller "
        "sequence_length",
        spec.data, store->size(), *spec.sequence_length));
  }
  return std::make_unique<TokenSequences>(request, std::move(store),
                                          sweeps::model_of(spec)->vocabulary);
}

}  // namespace batchsweep::train
