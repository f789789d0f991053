// SPDX-License-Identifier: Apache-2.0
// In place of process_group_nccl.cpp where the program is built without CUDA.
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include "worker/train/process_group.hpp"
#include "worker/train/trial_errors.hpp"

namespace batchsweep::train {

c10::intrusive_ptr<c10d::ProcessGroup> join_nccl_group(const GroupAddress&) {
  throw Unsupported("this batchsweep-trial is built without NCCL: build with scripts/setup --cuda");
}

void leave_nccl_group(const c10::intrusive_ptr<c10d::ProcessGroup>&) {}

}  // namespace batchsweep::train
