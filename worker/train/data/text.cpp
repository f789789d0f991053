// SPDX-License-Identifier: Apache-2.0
// text:FILE: each byte is a token, each stretch of sequence_length bytes a sample (the rest is left
// out). What is hidden of a sample follows from the seed and its number in the trial, so it does
// not depend on how samples are cut into batches.
#include <ATen/ATen.h>
#include <fmt/format.h>

#include <fstream>

#include "sweeps/trial_defaults.hpp"
#include "worker/train/data/data_source.hpp"
#include "worker/train/data/masked_tokens.hpp"
#include "worker/train/data/sample_order.hpp"
#include "worker/train/data/token_targets.hpp"
#include "worker/train/trial_errors.hpp"

namespace batchsweep::train {
namespace {

constexpr std::string_view kPrefix = "text:";

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file)
    throw TrialFailed(
        fmt::format("cannot read the text {}: is the path right on this host?", path));
  std::string text(static_cast<std::size_t>(file.tellg()), '\0');
  file.seekg(0);
  if (!file.read(text.data(), static_cast<std::streamsize>(text.size()))) {
    throw TrialFailed(fmt::format("cannot read the text {} to its end", path));
  }
  return text;
}

class Text final : public DataSource {
 public:
  Text(const DataRequest& request, std::int64_t vocabulary)
      : text_(read_text(request.spec.data.substr(kPrefix.size()))),
        length_(*request.spec.sequence_length),
        order_(static_cast<std::int64_t>(text_.size()) / length_, request.spec.batch_size,
               request.seed,
               fmt::format("{} ({} bytes in sequences of {})", request.spec.data, text_.size(),
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
    const char* bytes = text_.data() + place.sample * length_;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      tokens[i] = kFirstByteToken + static_cast<unsigned char>(bytes[i]);
    }
    set_targets(task_, tokens, targets, vocabulary_,
                mixed_seed(seed_, static_cast<std::uint64_t>(place.number)));
  }

  std::string text_;
  std::int64_t length_;
  SampleOrder order_;
  sweeps::Task task_;
  std::int64_t batch_size_, vocabulary_;
  std::uint64_t seed_;
  c10::Device device_;
};

}  // namespace

std::unique_ptr<DataSource> open_text(const DataRequest& request) {
  const sweeps::TrialSpec& spec = request.spec;
  const sweeps::ModelInfo* model = sweeps::model_of(spec);
  if (model == nullptr || model->domain != sweeps::Domain::kText) {
    throw TrialFailed(fmt::format("{} is text, {} is no model of language", spec.data, spec.model));
  }
  return std::make_unique<Text>(request, model->vocabulary);
}

}  // namespace batchsweep::train
