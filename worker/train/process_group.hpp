// SPDX-License-Identifier: Apache-2.0
// The ranks of one trial as LibTorch's process group: Gloo between CPUs, NCCL between GPUs, over a
// store that rank 0 keeps. Knows nothing of where the address of the store comes from;
// rank_group.hpp does.
#pragma once

#include <c10/util/intrusive_ptr.h>

#include <cstdint>
#include <exception>
#include <string>

#include "worker/protocol/trial_events.hpp"

namespace c10d {
class ProcessGroup;
class Store;
}  // namespace c10d

namespace batchsweep::train {

using StorePtr = c10::intrusive_ptr<c10d::Store>;
using GroupPtr = c10::intrusive_ptr<c10d::ProcessGroup>;

// Rank 0's: listens on that address alone, at a port that the system chose. Throws LaunchFault
// where it cannot.
struct OpenedStore {
  StorePtr store;
  protocol::Rendezvous at;
};
[[nodiscard]] OpenedStore open_store(const std::string& address);
// The others'. Throws as LibTorch does (is_lost_peer) where nobody answers.
[[nodiscard]] StorePtr connect_store(const protocol::Rendezvous& at);

// Collectives wait without a limit of their own: whoever started the trial ends it from outside.
// `address`: this host's, that the peers reach it by.
[[nodiscard]] GroupPtr make_gloo_group(const StorePtr& store, int rank, int world_size,
                                       const std::string& address);
// The CUDA device must have been chosen before. `interface`: for NCCL's own sockets.
[[nodiscard]] GroupPtr make_nccl_group(const StorePtr& store, int rank, int world_size,
                                       const std::string& interface);
// Before the process ends, with all peers well: NCCL's threads must be gone before CUDA is.
void leave_nccl_group(const GroupPtr& group);

// The error of a collective or of the store, by its type: another rank is gone, or cannot be
// reached.
[[nodiscard]] bool is_lost_peer(const std::exception& error);

}  // namespace batchsweep::train
