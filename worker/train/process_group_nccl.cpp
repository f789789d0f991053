// SPDX-License-Identifier: Apache-2.0
// Compiled and linked with BATCHSWEEP_CUDA; not run on a GPU so far.
#include <ATen/ATen.h>
#include <c10/cuda/CUDAFunctions.h>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

#include <chrono>
#include <cstdlib>

#include "worker/train/process_group.hpp"

namespace batchsweep::train {

GroupPtr make_nccl_group(const StorePtr& store, int rank, int world_size,
                         const std::string& interface) {
  constexpr int kKeepWhatIsSet = 0;
  if (!interface.empty()) setenv("NCCL_SOCKET_IFNAME", ("=" + interface).c_str(), kKeepWhatIsSet);
  // LibTorch's watchdog would abort the process: which rank is guilty would be lost.
  setenv("TORCH_NCCL_ASYNC_ERROR_HANDLING", "0", kKeepWhatIsSet);
  setenv("TORCH_NCCL_ENABLE_MONITORING", "0", kKeepWhatIsSet);

  auto options = c10d::ProcessGroupNCCL::Options::create();
  options->timeout = std::chrono::hours(24 * 7);
  const auto nccl = c10::make_intrusive<c10d::ProcessGroupNCCL>(store, rank, world_size, options);
  nccl->setBoundDeviceId(c10::Device(c10::kCUDA, c10::cuda::current_device()));

  auto group = c10::make_intrusive<c10d::ProcessGroup>(store, rank, world_size);
  group->setBackend(c10::kCUDA, c10d::ProcessGroup::BackendType::NCCL, nccl);
  group->setDefaultBackend(c10d::ProcessGroup::BackendType::NCCL);
  return group;
}

void leave_nccl_group(const GroupPtr& group) { group->getBackend(c10::kCUDA)->shutdown(); }

}  // namespace batchsweep::train
