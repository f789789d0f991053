// SPDX-License-Identifier: Apache-2.0
// Batches of token sequences from anything that holds one long row of tokens: each stretch of
// sequence_length is a sample, the rest is left out. What is hidden of a sample follows from the
// seed and its number in the trial, so it does not depend on how samples are cut into batches.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "worker/train/data/data_source.hpp"

namespace batchsweep::train {

class TokenStore {
 public:
  virtual ~TokenStore() = default;
  [[nodiscard]] virtual std::int64_t size() const = 0;
  // Fills `into` from the tokens at `from` on. Throws TrialFailed for one that is none of the
  // model's.
  virtual void read(std::int64_t from, std::span<std::int64_t> into) const = 0;
};

// Throws TrialFailed where the model takes no text, its answers do not follow from text alone, or
// the store is too small.
void check_takes_text(const DataRequest& request);
[[nodiscard]] std::unique_ptr<DataSource> open_sequences(const DataRequest& request,
                                                         std::unique_ptr<TokenStore> store);

}  // namespace batchsweep::train
