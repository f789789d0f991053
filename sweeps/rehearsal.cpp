// SPDX-License-Identifier: Apache-2.0
#include "sweeps/rehearsal.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string_view>

#include "sweeps/grid.hpp"

namespace batchsweep::sweeps {
namespace {

// Own generator and distributions: the standard library's differ between implementations, and a
// rehearsal is the same everywhere.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {  // splitmix64
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }
  // Sum of 12 uniforms: mean 0, variance 1, within -6..6, and exact arithmetic only.
  double normal() {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += uniform();
    return sum;
  }

 private:
  std::uint64_t state_;
};

class SeedText {
 public:
  SeedText& add(std::string_view text) {
    for (const char c : text) add_byte(static_cast<unsigned char>(c));
    add_byte(0);
    return *this;
  }
  SeedText& add(std::uint64_t number) {
    for (int shift = 0; shift < 64; shift += 8)
      add_byte(static_cast<unsigned char>(number >> shift));
    return *this;
  }
  SeedText& add(std::int64_t number) { return add(static_cast<std::uint64_t>(number)); }
  [[nodiscard]] std::uint64_t value() const { return hash_; }

 private:
  void add_byte(unsigned char byte) { hash_ = (hash_ ^ byte) * 0x100000001b3u; }  // FNV-1a
  std::uint64_t hash_ = 0xcbf29ce484222325u;
};

SeedText seed_of(const TrialSpec& spec) {
  SeedText text;
  text.add(spec.seed).add(spec.gpu).add(spec.model).add(spec.precision).add(spec.data);
  text.add(spec.batch_size).add(spec.world_size).add(spec.gradient_accumulation_steps);
  text.add(spec.num_nodes).add(spec.placement).add(spec.pinned_to).add(spec.runtime);
  text.add(spec.optimizer.value_or(""))
      .add(spec.memory_format)
      .add(spec.sequence_length.value_or(0));
  text.add(spec.image_height.value_or(0)).add(spec.image_width.value_or(0));
  text.add(std::uint64_t{spec.activation_checkpointing});
  for (const auto& [name, value] : spec.env) text.add(name).add(value);
  return text;
}

double played_memory(const RehearsalRule& rule, const TrialSpec& spec, Random random) {
  double bytes =
      rule.memory_fixed_bytes + rule.memory_per_sample_bytes * static_cast<double>(spec.batch_size);
  if (std::ranges::count(rule.memory_except, spec.batch_size) > 0) bytes *= 2;
  bytes *= std::max(0.0, 1 + rule.memory_noise * random.normal());
  if (rule.memory_steps_bytes > 0)
    bytes = std::ceil(bytes / rule.memory_steps_bytes) * rule.memory_steps_bytes;
  return std::round(bytes);
}

// Deviations from the mean step time in units of the noise, one step after the other.
class Deviations {
 public:
  Deviations(const std::string& series, std::int64_t steps, Random random)
      : series_(series),
        steps_(static_cast<double>(std::max<std::int64_t>(steps, 2))),
        random_(random) {
    if (series_.starts_with("ar1:"))
      phi_ = std::clamp(std::strtod(series_.c_str() + 4, nullptr), -0.999, 0.999);
    last_ = random_.normal();
  }

  double next() {
    const double fresh = random_.normal();
    const double index = static_cast<double>(index_++);
    if (series_.starts_with("ar1:"))
      return last_ = phi_ * last_ + std::sqrt(1 - phi_ * phi_) * fresh;
    if (series_ == "drift") return fresh + 4 * (index / (steps_ - 1) - 0.5);
    if (series_ == "bimodal") return 0.2 * fresh + (random_.uniform() < 0.5 ? -1 : 1);
    if (series_ == "spikes") return fresh + (random_.uniform() < 0.05 ? 20 : 0);
    return fresh;
  }

 private:
  const std::string& series_;
  double steps_;
  Random random_;
  double phi_ = 0, last_ = 0;
  std::int64_t index_ = 0;
};

constexpr std::int64_t kMostSteps = 100'000;  // however small the steps and however long min_time

std::vector<double> played_step_times(const RehearsalRule& rule, const TrialSpec& spec,
                                      Random random) {
  const auto samples = static_cast<double>(spec.batch_size * spec.gradient_accumulation_steps);
  const double mean = rule.step_fixed_s + rule.step_per_sample_s * samples;
  const std::int64_t wanted = spec.warmup_steps + spec.timed_steps;
  Deviations deviations(rule.step_series, wanted, random);
  std::vector<double> times;
  times.reserve(static_cast<std::size_t>(wanted));
  double window = 0;
  for (std::int64_t i = 0; i < wanted || (window < spec.min_time_s && mean > 0 && i < kMostSteps);
       ++i) {
    const double time = mean * std::max(0.1, 1 + rule.step_noise * deviations.next());
    times.push_back(std::round(time * 1e9) / 1e9);
    if (i >= spec.warmup_steps) window += times.back();
  }
  return times;
}

bool fault_strikes(const RehearsalRule& rule, std::int64_t rank, std::int64_t attempt,
                   Random random) {
  if (rule.fault == Fault::kNone || rank != rule.fault_rank) return false;
  if (rule.fault_attempts && attempt > *rule.fault_attempts) return false;
  return random.uniform() < rule.fault_probability;
}

}  // namespace

const RehearsalRule* matching_rule(const Rehearsal& rehearsal, const TrialSpec& spec) {
  const auto found = std::ranges::find_if(
      rehearsal.rules, [&](const RehearsalRule& rule) { return matches(spec, rule.when); });
  return found == rehearsal.rules.end() ? nullptr : &*found;
}

PlayScript play_script(const RehearsalRule& rule, const TrialSpec& spec, std::int64_t rank,
                       std::int64_t repeat, std::int64_t attempt) {
  const SeedText of_repeat = seed_of(spec).add(repeat);
  const auto seeded = [&](std::string_view what, std::int64_t a, std::int64_t b) {
    return Random(SeedText(of_repeat).add(what).add(a).add(b).value());
  };
  PlayScript script;
  script.step_times_s = played_step_times(rule, spec, seeded("steps", rank, attempt));
  // Not of the attempt: running again must not turn what did not fit into what fits.
  script.allocated_bytes = played_memory(rule, spec, seeded("memory", rank, 0));
  script.reserved_bytes = std::round(script.allocated_bytes * std::max(1.0, rule.reserved_factor));
  if (fault_strikes(rule, rank, attempt, seeded("fault", attempt, 0))) {
    script.fault = rule.fault;
    script.fault_exit_code = rule.fault_exit_code;
    script.fault_step = rule.fault_step;
  }
  return script;
}

std::optional<PlayedOutOfMemory> played_out_of_memory(const PlayScript& script,
                                                      double limit_bytes) {
  const double needed = std::max(script.allocated_bytes, script.reserved_bytes);
  if (needed > limit_bytes) {
    const double allocated = std::floor(script.allocated_bytes * (limit_bytes / needed));
    return PlayedOutOfMemory{.requested_bytes = script.allocated_bytes - allocated,
                             .allocated_bytes = allocated,
                             .reserved_bytes = limit_bytes,
                             .limit_bytes = limit_bytes,
                             .step = 1};
  }
  if (script.fault != Fault::kOom) return std::nullopt;
  return PlayedOutOfMemory{.requested_bytes = limit_bytes - script.reserved_bytes + 1,
                           .allocated_bytes = script.allocated_bytes,
                           .reserved_bytes = script.reserved_bytes,
                           .limit_bytes = limit_bytes,
                           .step = script.fault_step};
}

Json to_json(const PlayScript& script) {
  Json json;
  json["setup_s"] = script.setup_s;
  json["step_times_s"] = script.step_times_s;
  json["allocated_bytes"] = script.allocated_bytes;
  json["reserved_bytes"] = script.reserved_bytes;
  json["fault"] = batchsweep::to_text(script.fault);
  json["fault_exit_code"] = script.fault_exit_code;
  json["fault_step"] = script.fault_step;
  return json;
}

PlayScript play_script_from_json(const Json& json) {
  PlayScript script;
  script.setup_s = json.value("setup_s", 0.0);
  script.step_times_s = json.at("step_times_s").get<std::vector<double>>();
  script.allocated_bytes = json.value("allocated_bytes", 0.0);
  script.reserved_bytes = json.value("reserved_bytes", 0.0);
  // An unknown fault of a newer orchestrator plays as none.
  script.fault = from_text<Fault>(json.value("fault", "none")).value_or(Fault::kNone);
  script.fault_exit_code = json.value("fault_exit_code", 0);
  script.fault_step = json.value("fault_step", std::int64_t{2});
  return script;
}

}  // namespace batchsweep::sweeps
