// SPDX-License-Identifier: Apache-2.0
// Masked language modelling (Devlin et al., 2018): of 15 % of the tokens the model must tell the
// true one; 80 % of these it sees as [MASK], 10 % as a random token, 10 % as they are. As many in
// each sequence, and at least one: so every loss is defined, and the mean over a batch is the mean
// over the parts that several ranks have of it.
#pragma once

#include <cstdint>
#include <span>

namespace batchsweep::train {

// Ids as in BERT's vocabulary; a byte of text is one token, clear of the special ones below 1000.
inline constexpr std::int64_t kMaskToken = 103;
inline constexpr std::int64_t kFirstByteToken = 1000;

// Both spans are one sequence. `tokens` holds the true ones and is changed in place; `targets` is
// written.
void hide_tokens(std::span<std::int64_t> tokens, std::span<std::int64_t> targets,
                 std::int64_t vocabulary, std::uint64_t seed);

}  // namespace batchsweep::train
