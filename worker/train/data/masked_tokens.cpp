// SPDX-License-Identifier: Apache-2.0
#include "worker/train/data/masked_tokens.hpp"

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
  const std::size_t if_none = random.below(tokens.size());
  const auto hide = [&](std::size_t i) {
    targets[i] = tokens[i];
    tokens[i] = shown_for(tokens[i], vocabulary, random);
  };
  std::size_t hidden = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    targets[i] = kIgnored;
    if (random.uniform() >= kHidden) continue;
    hide(i);
    ++hidden;
  }
  if (hidden == 0) hide(if_none);
}

}  // namespace batchsweep::train
