// SPDX-License-Identifier: Apache-2.0
// The ranks of one trial as LibTorch's process group. Knows nothing of where the address of the
// rendezvous comes from.
#pragma once

#include <c10/util/intrusive_ptr.h>

#include <chrono>
#include <cstdint>
#include <string>

namespace c10d {
class ProcessGroup;
}

namespace batchsweep::train {

struct GroupAddress {
  std::string host;  // of rank 0's TCPStore
  std::uint16_t port = 0;
  int rank = 0, world_size = 1;
  std::chrono::milliseconds timeout = std::chrono::minutes(10);
};

// On GPUs, by NCCL. The CUDA device must have been chosen before.
[[nodiscard]] c10::intrusive_ptr<c10d::ProcessGroup> join_nccl_group(const GroupAddress& address);
// Before the process ends: NCCL's threads must be gone before CUDA is.
void leave_nccl_group(const c10::intrusive_ptr<c10d::ProcessGroup>& group);

}  // namespace batchsweep::train
