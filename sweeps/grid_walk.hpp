// SPDX-License-Identifier: Apache-2.0
// Visits the points of a grid in order, one spec changed in place from point to point. Internal to
// sweeps/: grid.cpp keeps the points, validate.cpp only looks at them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sweeps/sweep_spec.hpp"

namespace batchsweep::sweeps {

inline constexpr std::uint64_t kMaxPoints = 10'000'000;

// The sweep's blocks with a gpu axis in each: "all", or none, becomes `present_types`.
[[nodiscard]] std::vector<GridBlock> resolved_blocks(const SweepSpec& sweep,
                                                     const std::vector<std::string>& present_types);

// "" when the blocks hold at most 10,000,000 points, else the sentence that says how many they
// hold.
[[nodiscard]] std::string too_many_points(const std::vector<GridBlock>& blocks);

// The point `index` of a block: mixed radix over its axes, the last axis fastest.
[[nodiscard]] TrialSpec point_spec(const SweepSpec& sweep, const GridBlock& block,
                                   std::uint64_t index);

// Every point that no [[exclude]] drops and that --only wants. Call only where too_many_points() is "".
using VisitPoint =
    std::function<void(std::uint32_t block, std::uint64_t index, const TrialSpec& spec)>;
void walk_grid(const SweepSpec& sweep, const std::vector<GridBlock>& blocks,
               const VisitPoint& visit);

}  // namespace batchsweep::sweeps
