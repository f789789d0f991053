// SPDX-License-Identifier: Apache-2.0
// LibTorch's own engine of data parallelism, made as DistributedDataParallel makes it by default.
// The only place that knows its constructor, which changes with each LibTorch.
#pragma once

#include <memory>
#include <vector>

#include "worker/train/parameters.hpp"
#include "worker/train/process_group.hpp"

namespace c10d {
class Logger;
class Reducer;
}  // namespace c10d

namespace batchsweep::train {

struct ReducerAndLogger {
  std::shared_ptr<c10d::Reducer> reducer;
  std::shared_ptr<c10d::Logger> logger;
};

// Averages the gradients of these, in buckets of 25 MiB, while backward still computes others.
[[nodiscard]] ReducerAndLogger make_reducer(const std::vector<NamedTensor>& parameters,
                                            const GroupPtr& group);

}  // namespace batchsweep::train
