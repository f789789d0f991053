// SPDX-License-Identifier: Apache-2.0
// How orchestrator and agents exchange messages: point to point, small, never blocking. Forms: orchestrator/transport/{loopback,mpi}.
#pragma once

#include <optional>
#include <string>

namespace batchsweep::protocol {

// 0 is the orchestrator's process (which holds an agent as well); agents are 0 .. size-1.
using PeerId = int;

// Which of the two parties that live in process 0 a message is for.
enum class Role { kOrchestrator, kAgent };

struct Incoming {
  PeerId from = 0;
  Role to = Role::kAgent;
  std::string bytes;
};

class Transport {
 public:
  virtual ~Transport() = default;
  [[nodiscard]] virtual PeerId self() const = 0;
  [[nodiscard]] virtual int size() const = 0;
  // Queues; a message to a lost peer is abandoned. Long messages travel in pieces of at most 32 KiB.
  virtual void send(PeerId peer, Role role, std::string bytes) = 0;
  // The next whole message, in the order sent per peer; nullopt when there is none now. Also drives progress of sends.
  [[nodiscard]] virtual std::optional<Incoming> receive() = 0;
  // This peer was given up: abandon what is queued for it.
  virtual void forget(PeerId peer) = 0;
  // Waits until all sends are gone or `seconds` are over; then shuts down. After a lost peer it must not finalize MPI: then it
  // returns false and the process leaves by _exit.
  [[nodiscard]] virtual bool close(double seconds) = 0;
};

}  // namespace batchsweep::protocol
