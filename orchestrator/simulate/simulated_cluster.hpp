// SPDX-License-Identifier: Apache-2.0
// A cluster that is played: takes the core's commands, gives events back in virtual time. Drives mode = "simulated" rehearsals and the
// simulation tests (which add faults of agents and messages).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "base/clock.hpp"
#include "orchestrator/core.hpp"

namespace batchsweep::orchestrator {

class SimulatedCluster {
 public:
  // Nodes from sweep.rehearsal->nodes, device memory from [[device]] and the catalogue. One agent a node.
  explicit SimulatedCluster(const sweeps::SweepSpec& sweep, const sweeps::Grid& grid);
  ~SimulatedCluster();

  [[nodiscard]] int agents() const;
  // Device types present, for gpu = "all".
  [[nodiscard]] static std::vector<std::string> device_types(const sweeps::SweepSpec& sweep);
  void execute(const Send& command, Instant now);
  void give_up(protocol::PeerId agent);
  // The next event and its time; nullopt when nothing will happen any more. Virtual time jumps there.
  [[nodiscard]] std::optional<std::pair<Instant, Event>> next();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace batchsweep::orchestrator
