// SPDX-License-Identifier: Apache-2.0
// tensors:FILE.safetensors: samples that are ready for the model, x what it sees and y what it
// shall tell, the first dimension counting both. Mapped, so a file may be larger than the memory.
#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>
#include <vector>

#include "sweeps/trial_defaults.hpp"
#include "worker/train/data/data_source.hpp"
#include "worker/train/data/sample_order.hpp"
#include "worker/train/safetensors.hpp"
#include "worker/train/trial_errors.hpp"

namespace batchsweep::train {
namespace {

constexpr std::string_view kPrefix = "tensors:";

// What the numbers of a tensor may be: 0 to most, and kIgnored where a target need not be told.
struct Range {
  std::int64_t most = 0;
  bool ignored = false;
  std::string what;  // "classes of lenet"
};

// What the model takes. Absent: nothing is known (a script).
struct Expected {
  std::optional<std::vector<std::int64_t>> x, y;  // shapes of one sample
  std::optional<Range> x_range, y_range;
  bool tokens = false;  // x holds tokens
};

std::string shape_text(at::IntArrayRef shape) {
  return fmt::format("[N, {}]", fmt::join(shape, ", "));
}

Expected expected_of(const sweeps::TrialSpec& spec) {
  using enum sweeps::Task;
  Expected expected;
  const sweeps::ModelInfo* model = sweeps::model_of(spec);
  if (spec.num_classes)
    expected.y_range = {*spec.num_classes - 1, true, "classes of " + spec.model};
  if (model == nullptr) return expected;
  expected.tokens = model->domain == sweeps::Domain::kText;
  const std::int64_t length = spec.sequence_length.value_or(0);
  if (expected.tokens) {
    expected.x = {length};
    expected.x_range = {model->vocabulary - 1, false, "tokens of " + spec.model};
  } else {
    expected.x = {model->channels, *spec.image_height, *spec.image_width};
  }
  switch (sweeps::task_of(spec)) {
    case kClassify:
      expected.y = std::vector<std::int64_t>();
      expected.y_range->ignored = false;
      break;
    case kSegment:
      expected.y = {*spec.image_height, *spec.image_width};
      break;
    case kMaskedTokens:
    case kNextToken:
      expected.y = {length};
      expected.y_range = {model->vocabulary - 1, true, "tokens of " + spec.model};
      break;
    case kAnswerSpan:
      expected.y = {2};
      expected.y_range = {length - 1, false, "positions of a sequence"};
      break;
    case kTranslate:
      expected.y = {length};
      expected.y_range = {model->vocabulary - 1, false, "tokens of " + spec.model};
      break;
  }
  return expected;
}

class Tensors final : public DataSource {
 public:
  Tensors(const DataRequest& request, const at::Tensor& x, const at::Tensor& y)
      : x_(x),
        y_(y),
        expected_(expected_of(request.spec)),
        what_(request.spec.data),
        batch_size_(request.spec.batch_size),
        order_(checked_samples(), request.share(), request.seed, what_),
        device_(request.device),
        type_(request.type),
        format_(request.format) {}

  Batch next() override {
    const at::Tensor samples = at::empty({batch_size_}, at::kLong);
    for (std::int64_t i = 0; i < batch_size_; ++i)
      samples.data_ptr<std::int64_t>()[i] = order_.next().sample;
    at::Tensor x = x_.index_select(0, samples), y = y_.index_select(0, samples);
    check_range("x", x, samples, expected_.x_range);
    check_range("y", y, samples, expected_.y_range);
    const bool sequences = x.dim() == 2 && !x.is_floating_point();
    return {.input = prepared(x),
            .target = y.to(device_),
            .samples = batch_size_,
            .tokens = sequences ? x.numel() : 0};
  }

 private:
  std::int64_t checked_samples() const {
    if (x_.dim() < 1 || y_.dim() < 1 || x_.size(0) != y_.size(0)) {
      throw TrialFailed(
          fmt::format("{}: x is {} and y is {}: both must begin with the same number "
                      "of samples",
                      what_, fmt::to_string(fmt::join(x_.sizes(), " x ")),
                      fmt::to_string(fmt::join(y_.sizes(), " x "))));
    }
    const bool whole = x_.scalar_type() == at::kLong || x_.scalar_type() == at::kInt;
    const bool real = x_.scalar_type() == at::kFloat;
    if (expected_.x && (expected_.tokens ? !whole : !real))
      refuse("x", x_, expected_.tokens ? "int64 or int32" : "float32");
    if (!whole && !real) refuse("x", x_, "float32, int64 or int32");
    if (y_.scalar_type() != at::kLong) refuse("y", y_, "int64");
    check_shape("x", x_, expected_.x, expected_.tokens ? "sequence_length" : "image_size");
    check_shape("y", y_, expected_.y, "the model's head");
    return x_.size(0);
  }
  [[noreturn]] void refuse(const char* name, const at::Tensor& tensor, const char* wanted) const {
    throw TrialFailed(fmt::format("{}: {} holds {}, expected {}", what_, name,
                                  c10::toString(tensor.scalar_type()), wanted));
  }
  void check_shape(const char* name, const at::Tensor& tensor,
                   const std::optional<std::vector<std::int64_t>>& wanted,
                   const char* decides) const {
    if (!wanted || tensor.sizes().slice(1) == at::IntArrayRef(*wanted)) return;
    const auto text = [](at::IntArrayRef shape) {
      return shape.empty() ? std::string("[N]") : shape_text(shape);
    };
    throw TrialFailed(fmt::format("{}: {} is {}, this trial takes {} ({} decides)", what_, name,
                                  text(tensor.sizes().slice(1)), text(*wanted), decides));
  }

  void check_range(const char* name, const at::Tensor& batch, const at::Tensor& samples,
                   const std::optional<Range>& range) const {
    if (!range) return;
    at::Tensor wrong = batch.lt(0).logical_or_(batch.gt(range->most));
    if (range->ignored) wrong.logical_and_(batch.ne(kIgnored));
    if (!wrong.any().item<bool>()) return;
    const at::Tensor at = wrong.nonzero()[0];
    at::Tensor value = batch;
    for (std::int64_t i = 0; i < at.numel(); ++i) value = value[at[i].item<std::int64_t>()];
    throw TrialFailed(fmt::format("{}: {} of sample {} holds {}, and the {} go from 0 to {}", what_,
                                  name, samples[at[0].item<std::int64_t>()].item<std::int64_t>(),
                                  value.item<std::int64_t>(), range->what, range->most));
  }

  at::Tensor prepared(const at::Tensor& x) const {
    if (!x.is_floating_point()) return x.to(device_, at::kLong);
    const at::Tensor there = x.to(device_, type_);
    return x.dim() == 4 ? there.contiguous(format_) : there;
  }

  at::Tensor x_, y_;
  Expected expected_;
  std::string what_;
  std::int64_t batch_size_;
  SampleOrder order_;
  c10::Device device_;
  at::ScalarType type_;
  at::MemoryFormat format_;
};

}  // namespace

std::unique_ptr<DataSource> open_tensors(const DataRequest& request) {
  const std::string& data = request.spec.data;
  const auto tensors = read_safetensors(data.substr(kPrefix.size()));
  for (const char* name : {"x", "y"}) {
    if (tensors.contains(name)) continue;
    std::vector<std::string> names;
    for (const auto& [known, tensor] : tensors) names.push_back(known);
    throw TrialFailed(fmt::format(
        "{} holds no {}: expected x (what the model sees) and y (what it shall tell), found {}",
        data, name, names.empty() ? "nothing" : fmt::to_string(fmt::join(names, ", "))));
  }
  return std::make_unique<Tensors>(request, tensors.at("x"), tensors.at("y"));
}

}  // namespace batchsweep::train
