// SPDX-License-Identifier: Apache-2.0
// In place of process_group_nccl.cpp where the program is built without CUDA.
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include "worker/train/process_group.hpp"
#include "worker/train/trial_errors.hpp"

namespace batchsweep::train {

GroupPtr make_nccl_group(const StorePtr&, int, int, const std::string&) {
  throw Unsupported("this batchsweep-trial is built without NCCL: build with scripts/setup --cuda");
}

void leave_nccl_group(const GroupPtr&) {}

}  // namespace batchsweep::train
