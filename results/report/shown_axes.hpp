// SPDX-License-Identifier: Apache-2.0
// Which axes become columns of a table, and which are said once above it: those with one value, and
// those that follow from another axis (the optimizer from the model).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "results/report/groups.hpp"

namespace batchsweep::results {

struct ShownAxes {
  std::vector<std::size_t> columns;
  std::vector<std::string>
      said_once;  // "world_size 1", "optimizer sgd (resnet18), adamw (bert-tiny)"
};

[[nodiscard]] ShownAxes shown_axes(const Groups& groups);
// The cell of an axis; an emulated device is marked.
[[nodiscard]] std::string axis_cell(const Groups& groups, std::size_t axis, const Group& group);
// "cpu-small resnet18 fp32": the group by its columns.
[[nodiscard]] std::string group_name(const Groups& groups, const ShownAxes& axes,
                                     std::size_t group);

}  // namespace batchsweep::results
