// SPDX-License-Identifier: Apache-2.0
// What a trial does where its spec leaves a choice to the model or the data: the defaults of the
// sweep file, resolved. Used by the identity (what stands at its default is not hashed), by tables
// and by the trial process, so that all three mean the same. They never change once released:
// recorded identities leave them out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sweeps/model_table.hpp"
#include "sweeps/trial_spec.hpp"

namespace batchsweep::sweeps {

// The built-in behind the spec's model; nullptr for scripts and for the free names of a rehearsal.
[[nodiscard]] const ModelInfo* model_of(const TrialSpec& spec);

// What one sample is, of a built-in or as a script's `input` says; nullopt for free names.
struct InputInfo {
  Domain domain = Domain::kImage;
  std::int64_t channels = 0;    // of images; 0: a script's input has no channels, height and width
  std::int64_t vocabulary = 0;  // of text
};
[[nodiscard]] std::optional<InputInfo> input_of(const TrialSpec& spec);

// What the trial asks of a built-in model, by its head. Of scripts: a class of each sample.
[[nodiscard]] Task task_of(const TrialSpec& spec);

struct TrialDefaults {
  std::string_view optimizer;
  double learning_rate = 0;
  double momentum = 0;
  double weight_decay = 0;
  std::optional<std::int64_t> image_size, num_classes,
      sequence_length;  // absent: the model has no such thing
  std::optional<double> dropout;
};
[[nodiscard]] TrialDefaults defaults_of(const TrialSpec& spec);

// The spec with every choice filled in from its defaults (what really runs).
[[nodiscard]] TrialSpec with_defaults(TrialSpec spec);

}  // namespace batchsweep::sweeps
