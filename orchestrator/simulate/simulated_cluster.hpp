// SPDX-License-Identifier: Apache-2.0
// A cluster that is played: takes the core's commands, gives events back in virtual time. Drives
// mode = "simulated" rehearsals and the simulation tests (which add faults of agents and messages).
// Knows nothing of what the core thinks.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "orchestrator/core.hpp"

namespace batchsweep::orchestrator {

class SimulatedCluster {
 public:
  // Nodes from sweep.rehearsal->nodes (none: one node with what [[device]] counts), device memory
  // from [[device]] and the catalogue. One agent a node; agent 0 is the orchestrator's own and is
  // never killed.
  explicit SimulatedCluster(const sweeps::SweepSpec& sweep, const sweeps::Grid& grid);
  ~SimulatedCluster();

  [[nodiscard]] int agents() const;
  void execute(const Send& command, Instant now);
  void give_up(protocol::PeerId agent);
  // The next event and its time; nullopt when nothing will happen any more. Virtual time jumps
  // there.
  [[nodiscard]] std::optional<std::pair<Instant, Event>> next();

  // ---- trouble, for tests
  // From now on nothing reaches the agent and nothing comes from it; its trials go on.
  void silence(protocol::PeerId agent);
  // Its line works again: what was said meanwhile, both ways, arrives late.
  void unsilence(protocol::PeerId agent);
  // How each message of an agent travels: a delay for each time that it arrives (two: it comes
  // twice). Messages of one agent never overtake each other; those of different agents do.
  using Travel =
      std::function<std::vector<Duration>(protocol::PeerId, const protocol::AgentMessage&)>;
  void set_travel(Travel travel);
  // Ranks that have not ended on agents that live and were not given up.
  [[nodiscard]] std::size_t ranks_alive() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace batchsweep::orchestrator
