// SPDX-License-Identifier: Apache-2.0
#include "worker/train/data/masked_tokens.hpp"

#include <algorithm>
#include <cmath>

#include "worker/train/data/batch.hpp"
#include "worker/train/data/sample_order.hpp"

namespace batchsweep::train {
namespace {

constexpr double kHidden = 0.15, kShownAsMask = 0.8, kShownAsRandom = 0.1;

std::int64_t shown_for(std::int64_t token, std::int64_t vocabulary, SmallRandom& random) {
  const double draw = random.uniform();
  if (draw < kShownAsMask) return kMaskToken;
  if (draw >= kShownAsMask + kShownAsRandom) return token;
  return static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(vocabulary)));
}

}  // namespace

void hide_tokens(std::span<std::int64_t> tokens, std::span<std::int64_t> targets,
                 std::int64_t vocabulary, std::uint64_t seed) {
  SmallRandom random(seed);
  auto wanted =
      static_cast<std::size_t>(std::llround(kHidden * static_cast<double>(tokens.size())));
  wanted = std::max<std::size_t>(wanted, 1);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    targets[i] = kIgnored;
    // So many of those that are left: each choice of tokens is equally likely.
    if (random.below(tokens.size() - i) >= wanted) continue;
    --wanted;
    targets[i] = tokens[i];
    tokens[i] = shown_for(tokens[i], vocabulary, random);
  }
}

}  // namespace batchsweep::train
