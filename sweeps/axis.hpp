// SPDX-License-Identifier: Apache-2.0
// Axes, their values, and the lines that pick points by them ([[exclude]], `when` of a rule, --only).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace batchsweep::sweeps {

// A value of an axis or of a line of [[exclude]], as text: numbers in their shortest form.
using AxisValue = std::string;

// One line of an [[exclude]] block, of `when` in a rehearsal rule, or of --only: which values of one axis match.
struct AxisMatch {
  std::string axis;
  std::vector<std::string> patterns;  // any of them; "*" and "?" as in a shell
  std::optional<std::int64_t> from, to;  // an open range instead, both ends included
  bool operator==(const AxisMatch&) const = default;
};

// One [grid] block: axis name -> values, in the fixed order of axes (sweeps/axis_table.hpp).
struct Axis {
  std::string name;
  std::vector<AxisValue> values;
  bool operator==(const Axis&) const = default;
};
struct GridBlock {
  std::vector<Axis> axes;
  bool operator==(const GridBlock&) const = default;
};

}  // namespace batchsweep::sweeps
