// SPDX-License-Identifier: Apache-2.0
#include "sweeps/trial_identity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/hash.hpp"
#include "sweeps/gpu_catalogue.hpp"
#include "sweeps/rehearsal.hpp"
#include "sweeps/trial_defaults.hpp"

namespace batchsweep::sweeps {
namespace {

// Appends "key=value" lines. The calls below stand in the order of the keys, so the text is sorted;
// a test checks it.
class Lines {
 public:
  template <class T>
  void add(std::string_view key, const T& value) {
    fmt::format_to(std::back_inserter(buffer_), "{}={}\n", key, value);
  }
  template <class T, class D>
  void add_unless(const D& by_default, std::string_view key, const T& value) {
    if (value != by_default) add(key, value);
  }
  // Absent = the default.
  template <class T, class D>
  void add_unless(const D& by_default, std::string_view key, const std::optional<T>& value) {
    if (value && *value != by_default) add(key, *value);
  }
  [[nodiscard]] std::string text() const { return fmt::to_string(buffer_); }

 private:
  fmt::memory_buffer buffer_;
};

const DeclaredDevice* declared(const SweepSpec& sweep, const std::string& name) {
  const auto it = std::find_if(sweep.devices.begin(), sweep.devices.end(),
                               [&](const DeclaredDevice& device) { return device.name == name; });
  return it == sweep.devices.end() ? nullptr : &*it;
}

void add_device(Lines& lines, const DeclaredDevice& device) {
  static const DeclaredDevice cpu;
  const bool is_cuda = device.kind == DeviceKind::kCuda;
  const GpuType* card = find_gpu(device.name);
  lines.add_unless(to_text(cpu.kind), "device.kind", to_text(device.kind));
  lines.add_unless(card == nullptr ? 0 : card->memory_bytes, "device.memory", device.memory_bytes);
  lines.add_unless("", "device.on", device.on);
  lines.add_unless(is_cuda ? kCudaReserveBytes : cpu.reserve_bytes, "device.reserve",
                   device.reserve_bytes);
  lines.add_unless(0, "device.threads", device.threads);
}

std::string model_identity(const TrialSpec& spec, const SweepSpec& sweep) {
  const std::string& source = spec.model_source.empty() ? spec.model : spec.model_source;
  constexpr std::string_view kScript = "script:";
  if (!source.starts_with(kScript)) return source;
  const auto it = sweep.file_hashes.find(source.substr(kScript.size()));
  return it == sweep.file_hashes.end() ? source : fmt::format("script:sha256:{}", it->second);
}

// Choices that the model's domain does not have (an image size of a model of language) change
// nothing and are left out.
void add_image_size(Lines& lines, const TrialSpec& spec, const TrialDefaults& defaults,
                    bool images) {
  if (!images || (!spec.image_height && !spec.image_width)) return;
  const std::int64_t height = spec.image_height.value_or(defaults.image_size.value_or(0));
  const std::int64_t width = spec.image_width.value_or(defaults.image_size.value_or(0));
  if (height == defaults.image_size && width == defaults.image_size) return;
  lines.add("image_size", fmt::format("{}x{}", height, width));
}

void add_script_input(Lines& lines, const TrialSpec& spec) {
  if (spec.input_shape.empty()) return;
  lines.add("input", fmt::format("{} {}", fmt::join(spec.input_shape, "x"), spec.input_dtype));
  lines.add_unless(0, "input_vocabulary", spec.input_vocabulary);
}

void add_weights(Lines& lines, const TrialSpec& spec, const SweepSpec& sweep) {
  if (spec.model_weights.empty()) return;
  lines.add_unless(false, "partial_weights", spec.partial_weights);
  const auto it = sweep.file_hashes.find(spec.model_weights);
  lines.add("weights", it == sweep.file_hashes.end() ? spec.model_weights : "sha256:" + it->second);
}

}  // namespace

std::string canonical_text(const TrialSpec& spec, const SweepSpec& sweep) {
  static const TrialSpec by_default;
  const ModelInfo* model = model_of(spec);
  const TrialDefaults defaults = defaults_of(spec);
  const bool images = model == nullptr || model->domain == Domain::kImage;
  const bool language = model == nullptr || model->domain == Domain::kText;
  Lines lines;
  lines.add_unless(false, "activation_checkpointing", spec.activation_checkpointing);
  lines.add_unless(by_default.attention, "attention", spec.attention);
  lines.add("batch_size", spec.batch_size);
  lines.add_unless(0, "clip_grad_norm", spec.clip_grad_norm);
  lines.add_unless(false, "cudnn_benchmark", spec.cudnn_benchmark);
  if (spec.data != by_default.data) lines.add("data", data_identity(spec));
  if (const DeclaredDevice* device = declared(sweep, spec.gpu)) add_device(lines, *device);
  if (model == nullptr || model->dropout)
    lines.add_unless(defaults.dropout.value_or(-1), "dropout", spec.dropout);
  for (const auto& [name, value] : spec.env) lines.add("env." + name, value);
  lines.add("gpu", spec.gpu);
  lines.add_unless(by_default.gradient_accumulation_steps, "gradient_accumulation_steps",
                   spec.gradient_accumulation_steps);
  const bool first_head = spec.model_head.empty() || (model != nullptr && !model->heads.empty() &&
                                                      model->heads.front().name == spec.model_head);
  if (!first_head) lines.add("head", spec.model_head);
  add_image_size(lines, spec, defaults, images);
  add_script_input(lines, spec);
  lines.add_unless(defaults.learning_rate, "learning_rate", spec.learning_rate);
  if (!spec.loss.empty()) lines.add_unless("cross_entropy", "loss", spec.loss);
  lines.add_unless(by_default.memory_format, "memory_format", spec.memory_format);
  lines.add_unless(0.0, "min_time_s", spec.min_time_s);
  lines.add("model", model_identity(spec, sweep));
  if (spec.optimizer.value_or(std::string(defaults.optimizer)) == "sgd")
    lines.add_unless(defaults.momentum, "momentum", spec.momentum);
  if (images || task_of(spec) == Task::kClassify)
    lines.add_unless(defaults.num_classes.value_or(0), "num_classes", spec.num_classes);
  lines.add_unless(by_default.num_nodes, "num_nodes", spec.num_nodes);
  lines.add_unless(defaults.optimizer, "optimizer", spec.optimizer);
  lines.add_unless(to_text(by_default.origin), "origin", to_text(spec.origin));
  lines.add_unless("", "pinned_to", spec.pinned_to);
  lines.add_unless(by_default.placement, "placement", spec.placement);
  lines.add_unless(by_default.precision, "precision", spec.precision);
  if (sweep.rehearsal && spec.origin == Origin::kRehearsed) {
    const RehearsalRule* rule = matching_rule(*sweep.rehearsal, spec);
    if (rule != nullptr) lines.add_unless("", "rehearsal_rule", rule->text);
  }
  lines.add_unless("", "runtime", spec.runtime);
  lines.add_unless(by_default.schedule, "schedule", spec.schedule);
  lines.add_unless(by_default.seed, "seed", spec.seed);
  if (language)
    lines.add_unless(defaults.sequence_length.value_or(0), "sequence_length", spec.sequence_length);
  lines.add_unless(by_default.timed_steps, "timed_steps", spec.timed_steps);
  lines.add_unless(by_default.warmup_steps, "warmup_steps", spec.warmup_steps);
  lines.add_unless(defaults.weight_decay, "weight_decay", spec.weight_decay);
  add_weights(lines, spec, sweep);
  lines.add_unless(by_default.world_size, "world_size", spec.world_size);
  return lines.text();
}

TrialId trial_id(const TrialSpec& spec, const SweepSpec& sweep) {
  return {sha256_prefix(canonical_text(spec, sweep))};
}

}  // namespace batchsweep::sweeps
