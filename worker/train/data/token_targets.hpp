// SPDX-License-Identifier: Apache-2.0
// What a model of language shall tell of a sequence of tokens.
#pragma once

#include <cstdint>
#include <span>

#include "sweeps/model_table.hpp"

namespace batchsweep::train {

// Both spans are one sequence. `tokens` holds the true ones and may be changed; `targets` is
// written. Throws TrialFailed for a task whose answers do not follow from the sequence.
void set_targets(sweeps::Task task, std::span<std::int64_t> tokens, std::span<std::int64_t> targets,
                 std::int64_t vocabulary, std::uint64_t seed);

}  // namespace batchsweep::train
