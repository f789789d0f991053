// SPDX-License-Identifier: Apache-2.0
// Where batches come from; one file a kind beside this one. The order follows from the trial's seed
// alone, so batch size and number of ranks change how the samples are cut, not which come. Every
// batch is full: the next epoch follows at once.
#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <memory>

#include "sweeps/trial_spec.hpp"
#include "worker/train/data/batch.hpp"

namespace batchsweep::train {

class DataSource {
 public:
  virtual ~DataSource() = default;
  [[nodiscard]] virtual Batch next() = 0;
};

// `spec` with its defaults filled in. Throws TrialFailed where the data is missing, too small for
// the batch, or unfit for the model.
[[nodiscard]] std::unique_ptr<DataSource> open_data(const sweeps::TrialSpec& spec,
                                                    std::uint64_t seed, c10::Device device);

// The kinds.
[[nodiscard]] std::unique_ptr<DataSource> open_synthetic(const sweeps::TrialSpec& spec,
                                                         std::uint64_t seed, c10::Device device);
[[nodiscard]] std::unique_ptr<DataSource> open_fashion_mnist(const sweeps::TrialSpec& spec,
                                                             std::uint64_t seed,
                                                             c10::Device device);
[[nodiscard]] std::unique_ptr<DataSource> open_text(const sweeps::TrialSpec& spec,
                                                    std::uint64_t seed, c10::Device device);

}  // namespace batchsweep::train
