// SPDX-License-Identifier: Apache-2.0
// LibTorch holds Gloo but not its headers, so those of Debian's libgloo-dev stand in for them. They
// are another version: only pointers to Gloo's classes may pass through this file, and a test sees
// that no Gloo code is compiled into it.
#include <ATen/ATen.h>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include <chrono>

#include "worker/train/process_group.hpp"

namespace batchsweep::train {

GroupPtr make_gloo_group(const StorePtr& store, int rank, int world_size,
                         const std::string& address) {
  auto options = c10d::ProcessGroupGloo::Options::create(std::chrono::hours(24 * 7));
  options->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname(address));
  const auto gloo = c10::make_intrusive<c10d::ProcessGroupGloo>(store, rank, world_size, options);

  auto group = c10::make_intrusive<c10d::ProcessGroup>(store, rank, world_size);
  group->setBackend(c10::kCPU, c10d::ProcessGroup::BackendType::GLOO, gloo);
  group->setDefaultBackend(c10d::ProcessGroup::BackendType::GLOO);
  return group;
}

}  // namespace batchsweep::train
