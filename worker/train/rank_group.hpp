// SPDX-License-Identifier: Apache-2.0
// All ranks of one trial, from the rendezvous to the end of the process. Knows nothing of models.
#pragma once

#include <c10/core/Device.h>

#include <functional>

#include "worker/protocol/trial_input.hpp"
#include "worker/train/process_group.hpp"

namespace batchsweep::train {

// How the address of rank 0's store goes round (docs/trial_protocol.md).
struct RendezvousBy {
  std::function<void(const protocol::Rendezvous&)> tell;
  std::function<protocol::Rendezvous()> ask;
};

class RankGroup {
 public:
  RankGroup();  // of one rank, until it has joined
  // Where it was not left, the connections stay until the process ends: a rank that fails must tell
  // why before its peers see it vanish, and a collective that is still under way cannot be waited
  // for.
  ~RankGroup();
  RankGroup(const RankGroup&) = delete;
  RankGroup& operator=(const RankGroup&) = delete;

  // Collective, once: waits for all ranks. A trial of one rank has a group only where its input
  // names a network.
  void join(const protocol::TrialInput& input, c10::Device device, const RendezvousBy& by);
  // Collective: after the last other one.
  void leave();

  [[nodiscard]] bool alone() const { return !group_; }
  [[nodiscard]] const GroupPtr& group() const { return group_; }
  [[nodiscard]] c10::Device device() const { return device_; }

  // Collective. With one rank they cost nothing.
  void wait_for_all() const;
  [[nodiscard]] bool as_first_says(bool own) const;  // rank 0's opinion

 private:
  GroupPtr group_;
  c10::Device device_ = c10::Device(c10::kCPU);
};

}  // namespace batchsweep::train
