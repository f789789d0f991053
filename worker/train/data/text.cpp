// SPDX-License-Identifier: Apache-2.0
// text:FILE for masked language modelling: each byte is a token, each stretch of sequence_length
// bytes a sample (the rest is left out). A sample's masks follow from the seed and its number in
// the trial, so they do not depend on how samples are cut into batches.
#include <ATen/ATen.h>
#include <fmt/format.h>

#include <fstream>

#include "sweeps/trial_defaults.hpp"
#include "worker/train/data/data_source.hpp"
#include "worker/train/data/masked_tokens.hpp"
#include "worker/train/data/sample_order.hpp"
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

class MaskedText final : public DataSource {
 public:
  MaskedText(const sweeps::TrialSpec& spec, std::int64_t vocabulary, std::uint64_t seed,
             c10::Device device)
      : text_(read_text(spec.data.substr(kPrefix.size()))),
        length_(*spec.sequence_length),
        order_(static_cast<std::int64_t>(text_.size()) / length_, spec.batch_size, seed,
               fmt::format("{} ({} bytes in sequences of {})", spec.data, text_.size(), length_)),
        batch_size_(spec.batch_size),
        vocabulary_(vocabulary),
        seed_(seed),
        device_(device) {}

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
    hide_tokens(tokens, targets, vocabulary_,
                mixed_seed(seed_, static_cast<std::uint64_t>(place.number)));
  }

  std::string text_;
  std::int64_t length_;
  SampleOrder order_;
  std::int64_t batch_size_, vocabulary_;
  std::uint64_t seed_;
  c10::Device device_;
};

}  // namespace

std::unique_ptr<DataSource> open_text(const sweeps::TrialSpec& spec, std::uint64_t seed,
                                      c10::Device device) {
  const sweeps::ModelInfo* model = sweeps::model_of(spec);
  if (model == nullptr || model->domain != sweeps::Domain::kText) {
    throw TrialFailed(fmt::format("{} is text, {} is no model of language", spec.data, spec.model));
  }
  return std::make_unique<MaskedText>(spec, model->num_classes, seed, device);
}

}  // namespace batchsweep::train
