// SPDX-License-Identifier: Apache-2.0
// Compiled and linked with BATCHSWEEP_CUDA; not run on a GPU so far.
#include <ATen/ATen.h>
#include <c10/cuda/CUDAFunctions.h>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "worker/train/process_group.hpp"

namespace batchsweep::train {

c10::intrusive_ptr<c10d::ProcessGroup> join_nccl_group(const GroupAddress& address) {
  c10d::TCPStoreOptions store_options;
  store_options.port = address.port;
  store_options.isServer = address.rank == 0;
  store_options.numWorkers = address.world_size;
  store_options.timeout = address.timeout;
  const auto store = c10::make_intrusive<c10d::TCPStore>(address.host, store_options);

  auto options = c10d::ProcessGroupNCCL::Options::create();
  options->timeout = address.timeout;
  const auto nccl =
      c10::make_intrusive<c10d::ProcessGroupNCCL>(store, address.rank, address.world_size, options);
  nccl->setBoundDeviceId(c10::Device(c10::kCUDA, c10::cuda::current_device()));

  auto group = c10::make_intrusive<c10d::ProcessGroup>(store, address.rank, address.world_size);
  group->setBackend(c10::kCUDA, c10d::ProcessGroup::BackendType::NCCL, nccl);
  group->setDefaultBackend(c10d::ProcessGroup::BackendType::NCCL);
  return group;
}

void leave_nccl_group(const c10::intrusive_ptr<c10d::ProcessGroup>& group) {
  group->getBackend(c10::kCUDA)->shutdown();
}

}  // namespace batchsweep::train
