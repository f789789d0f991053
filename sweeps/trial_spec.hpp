// SPDX-License-Identifier: Apache-2.0
// One point of the grid: everything that says what a trial does and how it is measured. Knows nothing of where or when it runs.
// The text forms (canonical lines for the identity, JSON for the trial process) are in sweeps/trial_identity.hpp and
// sweeps/trial_spec_json.hpp.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/enum_names.hpp"

namespace batchsweep::sweeps {

// Where a row's numbers come from. Part of the identity: a rehearsed row never counts for a measured one.
enum class Origin { kMeasured, kRehearsed, kPublished };
constexpr auto enum_names(Origin) {
  return std::to_array<EnumName<Origin>>(
      {{Origin::kMeasured, "measured"}, {Origin::kRehearsed, "rehearsed"}, {Origin::kPublished, "published"}});
}

// The first 8 bytes of SHA-256 over the canonical lines; 16 hex digits as text.
struct TrialId {
  std::uint64_t value = 0;
  auto operator<=>(const TrialId&) const = default;
};
using batchsweep::to_text;  // of enums: the overload below would hide it
[[nodiscard]] std::string to_text(TrialId id);
[[nodiscard]] std::optional<TrialId> parse_trial_id(const std::string& hex16);

// Defaults are part of the file format and never change: the identity leaves out what is at its default.
struct TrialSpec {
  Origin origin = Origin::kMeasured;
  std::string gpu;    // the device type asked for: a catalogue or [[device]] name
  std::string model;  // as the grid names it: a built-in or a [model.NAME]
  std::string precision = "fp32";
  std::int64_t batch_size = 0;  // samples per rank and micro-step
  std::int64_t world_size = 1;  // data-parallel ranks, one device each
  std::int64_t gradient_accumulation_steps = 1;
  std::string num_nodes = "min";  // or a number
  std::string placement = "any";  // "each-node", "each-device"
  std::string pinned_to;          // the host or device that a placement other than "any" pins it to

  std::string model_source;  // built-in behind the name ("resnet18"), or "script:FILE"; never empty after reading
  std::string model_head;    // "" = the model's first
  std::string model_weights;     // full path of a safetensors file; "" = drawn from the seed
  bool partial_weights = false;  // what the file and the model do not share is left as it is
  std::string loss;
  // Of scripts, which cannot tell it themselves: one sample's shape and type, and how many tokens
  // there are where it is of int64.
  std::vector<std::int64_t> input_shape;
  std::string input_dtype = "float32";
  std::optional<std::int64_t> input_vocabulary;

  // A file or folder is named by its full path ("text:/data/bible.txt"); `data_hash` is its content, "" for built-in data.
  std::string data = "synthetic";
  std::string data_hash;
  std::optional<std::int64_t> image_height, image_width, num_classes;  // absent: the model's or the data's own
  std::optional<std::int64_t> sequence_length;                        // absent: 128 for models of language
  std::optional<double> dropout;                                      // absent: the model's

  // Absent: the model's domain decides (images: sgd, 0.01, 0.9, 0; models of language adamw, 1e-4, -, 0.01).
  std::optional<std::string> optimizer;
  std::optional<double> learning_rate, momentum, weight_decay;
  std::string schedule = "constant";
  std::optional<double> clip_grad_norm;
  std::string memory_format = "contiguous";
  bool activation_checkpointing = false;
  bool cudnn_benchmark = false;
  std::string attention = "auto";

  std::int64_t warmup_steps = 5;
  std::int64_t timed_steps = 20;
  double min_time_s = 0;
  std::uint64_t seed = 1;  // [sweep] seed

  std::string runtime;  // "" = the built-in program
  std::map<std::string, std::string> env;

  bool operator==(const TrialSpec&) const = default;
};

// Limits of one trial; not hashed.
struct TrialLimits {
  double time_s = 1800;
  double setup_s = 600;
  double stall_s = 60;
  std::int64_t retries = 2;
  bool operator==(const TrialLimits&) const = default;
};

// What the data are, wherever they lie: "synthetic", or the kind and the hash of the content.
[[nodiscard]] std::string data_identity(const TrialSpec& spec);

// Seed of the trial process: a function of sweep seed, model, data and repeat only, so that other batch and world sizes of
// one model start from the same weights and data, and 2 ranks x B/2 can be compared with 1 x B.
[[nodiscard]] std::uint64_t trial_seed(const TrialSpec& spec, std::int64_t repeat);

}  // namespace batchsweep::sweeps
