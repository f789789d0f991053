// SPDX-License-Identifier: Apache-2.0
// THE table of axes: every key that [grid] may vary, what values it takes, and its place in
// TrialSpec, once. Reading, [[exclude]],
// --only, tables and the order of the grid all come from here; a new axis is one line and one
// member.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sweeps/axis.hpp"
#include "sweeps/trial_spec.hpp"

namespace batchsweep::sweeps {

enum class ValueKind {
  kInteger,  // low..high
  kNumber,   // low..high
  kBoolean,
  kWord,       // one of `words`
  kName,       // free text: not empty, no control characters
  kSeconds,    // "10 s"
  kImageSize,  // N or "HxW"
  kNumNodes,   // "min" or a number
  kClip,       // "none" or a number
  kEnv,        // { NAME = "value" }
};

struct AxisInfo {
  std::string_view name;
  ValueKind kind;
  double low = 0, high = 0;  // of numbers, both ends included
  std::span<const std::string_view> words = {};
  bool in_trial = true;                            // may stand in [trial] too
  std::string (*get)(const TrialSpec&) = nullptr;  // what runs, defaults filled in; unknown -> ""
  void (*set)(TrialSpec&, const AxisValue&) = nullptr;  // the value was checked when it was read
};

// In the fixed order of axes: gpu, model, precision, others by name, world_size, then
// global_batch_size and batch_size.
[[nodiscard]] std::span<const AxisInfo> axis_table();
[[nodiscard]] const AxisInfo* find_axis(std::string_view name);
[[nodiscard]] std::vector<std::string> axis_names();

// Whole numbers of an axis value; nullopt where it is none.
[[nodiscard]] std::optional<std::int64_t> whole_number(std::string_view text);

}  // namespace batchsweep::sweeps
