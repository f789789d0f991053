// SPDX-License-Identifier: Apache-2.0
// Where batches come from; one file a kind beside this one. The order follows from the trial's seed
// alone, so batch size and number of ranks change how the samples are cut, not which come. Every
// batch is full: the next epoch follows at once.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/MemoryFormat.h>
#include <c10/core/ScalarType.h>

#include <cstdint>
#include <memory>

#include "sweeps/trial_spec.hpp"
#include "worker/train/data/batch.hpp"
#include "worker/train/data/sample_order.hpp"

namespace batchsweep::train {

class DataSource {
 public:
  virtual ~DataSource() = default;
  [[nodiscard]] virtual Batch next() = 0;
};

// What batches are asked for.
struct DataRequest {
  const sweeps::TrialSpec& spec;  // with its defaults filled in
  std::uint64_t seed = 0;
  std::int64_t rank = 0;  // of spec.world_size
  std::int64_t ranks_on_host = 1;
  c10::Device device = c10::Device(c10::kCPU);
  // Of images: the type of the model's weights and the trial's memory_format.
  c10::ScalarType type = c10::ScalarType::Float;
  c10::MemoryFormat format = c10::MemoryFormat::Contiguous;

  [[nodiscard]] Share share() const {
    return {.batch_size = spec.batch_size, .rank = rank, .world_size = spec.world_size};
  }
};

// Throws TrialFailed where the data is missing, damaged, too small for the batch, or unfit for the
// model.
[[nodiscard]] std::unique_ptr<DataSource> open_data(const DataRequest& request);

// The kinds.
using OpenData = std::unique_ptr<DataSource>(const DataRequest& request);
OpenData open_synthetic, open_fashion_mnist, open_images, open_tensors, open_text, open_tokens;

}  // namespace batchsweep::train
