// SPDX-License-Identifier: Apache-2.0
#include "sweeps/axis_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <unordered_map>

#include "base/check.hpp"
#include "base/json.hpp"
#include "base/units.hpp"
#include "sweeps/trial_defaults.hpp"

namespace batchsweep::sweeps {
namespace {

using Words = std::string_view;
constexpr auto kPrecisions =
    std::to_array<Words>({"fp32", "tf32", "fp16", "bf16", "bf16-true", "fp8"});
constexpr auto kAttentions = std::to_array<Words>({"auto", "math", "flash", "efficient", "cudnn"});
constexpr auto kMemoryFormats = std::to_array<Words>({"contiguous", "channels_last"});
constexpr auto kOptimizers = std::to_array<Words>({"sgd", "adam", "adamw"});
constexpr auto kPlacements = std::to_array<Words>({"any", "each-node", "each-device"});
constexpr auto kSchedules =
    std::to_array<Words>({"constant", "linear_warmup", "step", "cosine", "one_cycle"});

// So that batch size x world size x accumulation stays below 2^63.
constexpr double kMaxBatch = 2147483647, kMaxRanks = 65536, kMaxAccumulation = 32768;
constexpr double kMaxSteps = 1e9;

std::int64_t as_integer(const AxisValue& text) {
  const std::optional<std::int64_t> value = whole_number(text);
  BATCHSWEEP_ASSERT(value.has_value());
  return *value;
}

double as_number(const AxisValue& text) {
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::string text_of(std::int64_t value) { return fmt::format_int(value).str(); }
std::string text_of(double value) { return fmt::format("{}", value); }
std::string text_of(bool value) { return value ? "true" : "false"; }
std::string text_of(const std::string& value) { return value; }
template <class T>
std::string text_of(const std::optional<T>& value) {
  return value ? text_of(*value) : std::string();
}

template <auto Member>
std::string get_member(const TrialSpec& spec) {
  return text_of(spec.*Member);
}
// For members that the model's or data's default fills.
template <auto Member>
std::string get_resolved(const TrialSpec& spec) {
  return spec.*Member ? text_of(spec.*Member) : text_of(with_defaults(spec).*Member);
}
template <auto Member>
void set_text(TrialSpec& spec, const AxisValue& text) {
  spec.*Member = text;
}
template <auto Member>
void set_integer(TrialSpec& spec, const AxisValue& text) {
  spec.*Member = as_integer(text);
}
template <auto Member>
void set_number(TrialSpec& spec, const AxisValue& text) {
  spec.*Member = as_number(text);
}
template <auto Member>
void set_boolean(TrialSpec& spec, const AxisValue& text) {
  spec.*Member = text == "true";
}

std::string get_image_size(const TrialSpec& spec) {
  const ModelInfo* model = model_of(spec);
  if (model != nullptr && model->domain != Domain::kImage) return "";
  const TrialSpec full = with_defaults(spec);
  if (!full.image_height || !full.image_width) return "";
  if (*full.image_height == *full.image_width) return text_of(*full.image_height);
  return fmt::format("{}x{}", *full.image_height, *full.image_width);
}
void set_image_size(TrialSpec& spec, const AxisValue& text) {
  const std::size_t cross = text.find('x');
  spec.image_height = as_integer(text.substr(0, cross));
  spec.image_width =
      cross == std::string::npos ? *spec.image_height : as_integer(text.substr(cross + 1));
}

std::string get_clip(const TrialSpec& spec) {
  return spec.clip_grad_norm ? text_of(*spec.clip_grad_norm) : "none";
}
void set_clip(TrialSpec& spec, const AxisValue& text) {
  spec.clip_grad_norm = text == "none" ? std::nullopt : std::optional(as_number(text));
}

std::string get_min_time(const TrialSpec& spec) { return text_of(spec.min_time_s) + " s"; }
void set_min_time(TrialSpec& spec, const AxisValue& text) {
  spec.min_time_s = parse_seconds(text).value_or(0);
}

std::string get_env(const TrialSpec& spec) { return spec.env.empty() ? "" : dump(Json(spec.env)); }
void set_env(TrialSpec& spec, const AxisValue& text) {
  spec.env = text.empty() ? std::map<std::string, std::string>()
                          : Json::parse(text).get<std::map<std::string, std::string>>();
}

std::string get_global_batch(const TrialSpec& spec) {
  return text_of(spec.batch_size * spec.world_size * spec.gradient_accumulation_steps);
}
// Stands last in the order, so world size and accumulation are set; reading has checked that it
// divides.
void set_global_batch(TrialSpec& spec, const AxisValue& text) {
  spec.batch_size = as_integer(text) / (spec.world_size * spec.gradient_accumulation_steps);
}

using Get = std::string (*)(const TrialSpec&);
using Set = void (*)(TrialSpec&, const AxisValue&);

// The shapes of the table's lines.
AxisInfo axis(std::string_view name, ValueKind kind, double low, double high, Get get, Set set) {
  return {.name = name, .kind = kind, .low = low, .high = high, .get = get, .set = set};
}
template <auto Member>
AxisInfo name(std::string_view name) {
  return axis(name, ValueKind::kName, 0, 0, get_member<Member>, set_text<Member>);
}
template <auto Member>
AxisInfo word(std::string_view name, std::span<const std::string_view> words) {
  AxisInfo info = axis(name, ValueKind::kWord, 0, 0, get_member<Member>, set_text<Member>);
  info.words = words;
  return info;
}
template <auto Member>
AxisInfo boolean(std::string_view name) {
  return axis(name, ValueKind::kBoolean, 0, 0, get_member<Member>, set_boolean<Member>);
}
template <auto Member>
AxisInfo integer(std::string_view name, double low, double high) {
  return axis(name, ValueKind::kInteger, low, high, get_member<Member>, set_integer<Member>);
}
template <auto Member>
AxisInfo resolved_integer(std::string_view name, double low, double high) {
  return axis(name, ValueKind::kInteger, low, high, get_resolved<Member>, set_integer<Member>);
}
template <auto Member>
AxisInfo resolved_number(std::string_view name, double low, double high) {
  return axis(name, ValueKind::kNumber, low, high, get_resolved<Member>, set_number<Member>);
}
AxisInfo grid_only(AxisInfo info) {
  info.in_trial = false;
  return info;
}
AxisInfo optimizer_axis() {
  AxisInfo info = word<&TrialSpec::placement>("optimizer", kOptimizers);
  info.get = get_resolved<&TrialSpec::optimizer>;
  info.set = set_text<&TrialSpec::optimizer>;
  return info;
}

std::vector<AxisInfo> all_axes() {
  using S = TrialSpec;
  using enum ValueKind;
  return {
      grid_only(name<&S::gpu>("gpu")),
      grid_only(name<&S::model>("model")),
      word<&S::precision>("precision", kPrecisions),
      boolean<&S::activation_checkpointing>("activation_checkpointing"),
      word<&S::attention>("attention", kAttentions),
      axis("clip_grad_norm", kClip, 1e-12, 1e12, get_clip, set_clip),
      boolean<&S::cudnn_benchmark>("cudnn_benchmark"),
      name<&S::data>("data"),
      resolved_number<&S::dropout>("dropout", 0, 0.999),
      axis("env", kEnv, 0, 0, get_env, set_env),
      integer<&S::gradient_accumulation_steps>("gradient_accumulation_steps", 1, kMaxAccumulation),
      axis("image_size", kImageSize, 1, 65536, get_image_size, set_image_size),
      resolved_number<&S::learning_rate>("learning_rate", 0, 1e6),
      word<&S::memory_format>("memory_format", kMemoryFormats),
      axis("min_time", kSeconds, 0, 86400, get_min_time, set_min_time),
      resolved_number<&S::momentum>("momentum", 0, 1),
      resolved_integer<&S::num_classes>("num_classes", 2, 1e7),
      axis("num_nodes", kNumNodes, 1, kMaxRanks, get_member<&S::num_nodes>,
           set_text<&S::num_nodes>),
      optimizer_axis(),
      word<&S::placement>("placement", kPlacements),
      name<&S::runtime>("runtime"),
      word<&S::schedule>("schedule", kSchedules),
      resolved_integer<&S::sequence_length>("sequence_length", 1, 1e6),
      integer<&S::timed_steps>("timed_steps", 1, kMaxSteps),
      integer<&S::warmup_steps>("warmup_steps", 0, kMaxSteps),
      resolved_number<&S::weight_decay>("weight_decay", 0, 1e6),
      integer<&S::world_size>("world_size", 1, kMaxRanks),
      // One of the two stands in a block; they come last because the batch is the fastest.
      grid_only(axis("global_batch_size", kInteger, 1, 9e15, get_global_batch, set_global_batch)),
      grid_only(integer<&S::batch_size>("batch_size", 1, kMaxBatch)),
  };
}

}  // namespace

std::span<const AxisInfo> axis_table() {
  static const std::vector<AxisInfo> axes = all_axes();
  return axes;
}

const AxisInfo* find_axis(std::string_view name) {
  static const auto by_name = [] {
    std::unordered_map<std::string_view, const AxisInfo*> map;
    for (const AxisInfo& axis : axis_table()) map.emplace(axis.name, &axis);
    return map;
  }();
  const auto it = by_name.find(name);
  return it == by_name.end() ? nullptr : it->second;
}

std::vector<std::string> axis_names() {
  std::vector<std::string> names;
  for (const AxisInfo& axis : axis_table()) names.emplace_back(axis.name);
  return names;
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace batchsweep::sweeps
