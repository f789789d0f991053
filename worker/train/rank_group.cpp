// SPDX-License-Identifier: Apache-2.0
#include "worker/train/rank_group.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include "worker/train/trial_errors.hpp"

namespace batchsweep::train {

RankGroup::RankGroup() = default;
RankGroup::~RankGroup() { (void)group_.release(); }

void RankGroup::join(const protocol::TrialInput& input, c10::Device device,
                     const RendezvousBy& by) {
  const auto world_size = static_cast<int>(input.spec.world_size);
  if (!input.network) {
    if (world_size == 1) return;
    throw TrialFailed(fmt::format(
        "the input of one of {} ranks names no network: start it with batchsweep run", world_size));
  }
  const auto rank = static_cast<int>(input.rank);
  StorePtr store;
  if (rank == 0) {
    const OpenedStore opened = open_store(input.network->address);
    by.tell(opened.at);
    store = opened.store;
  } else {
    store = connect_store(by.ask());
  }
  device_ = device;
  group_ = device.is_cuda() ? make_nccl_group(store, rank, world_size, input.network->interface)
                            : make_gloo_group(store, rank, world_size, input.network->address);
  wait_for_all();
}

void RankGroup::leave() {
  if (alone()) return;
  wait_for_all();
  if (device_.is_cuda()) leave_nccl_group(group_);
  group_.reset();
}

void RankGroup::wait_for_all() const {
  if (alone()) return;
  c10d::BarrierOptions options;
  options.device = device_;
  group_->barrier(options)->wait();
}

bool RankGroup::as_first_says(bool own) const {
  if (alone()) return own;
  std::vector<at::Tensor> word{
      at::full({}, own ? 1 : 0, at::TensorOptions().dtype(at::kLong).device(device_))};
  group_->broadcast(word)->wait();
  return word.front().item<std::int64_t>() != 0;
}

}  // namespace batchsweep::train
