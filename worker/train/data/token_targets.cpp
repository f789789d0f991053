// SPDX-License-Identifier: Apache-2.0
#include "worker/train/data/token_targets.hpp"

#include <algorithm>

#include "worker/train/data/batch.hpp"
#include "worker/train/data/masked_tokens.hpp"
#include "worker/train/trial_errors.hpp"

namespace batchsweep::train {

void set_targets(sweeps::Task task, std::span<std::int64_t> tokens, std::span<std::int64_t> targets,
                 std::int64_t vocabulary, std::uint64_t seed) {
  using enum sweeps::Task;
  switch (task) {
    case kMaskedTokens:
      return hide_tokens(tokens, targets, vocabulary, seed);
    case kNextToken:
      std::copy(tokens.begin() + 1, tokens.end(), targets.begin());
      targets.back() = kIgnored;
      return;
    case kClassify:
    case kSegment:
    case kAnswerSpan:
    case kTranslate:
      throw TrialFailed(
          "text says nothing of classes, answers or translations: use data = \"synthetic\" or "
          "\"tensors:FILE.safetensors\" (x and y), or the head mlm or lm");
  }
}

}  // namespace batchsweep::train
