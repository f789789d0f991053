// SPDX-License-Identifier: Apache-2.0
// The orchestrator in process 0 of a run: gathers the agents, drives the core, carries out its commands over transport and results file.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "cli/run_setup.hpp"
#include "cli/stop_signals.hpp"
#include "worker/protocol/transport.hpp"

namespace batchsweep::cli {

class OrchestratorSide {
 public:
  OrchestratorSide(RunSetup& setup, protocol::Transport& transport, Instant now);
  void receive(protocol::PeerId from, std::string_view bytes, Instant now);
  // Time passes, what is pending becomes durable, the file is published. True if anything was sent.
  bool advance(Instant now, bool inbox_empty);
  void stop(StopWish wish, Instant now);
  [[nodiscard]] bool finished(Instant now) const;
  [[nodiscard]] bool started() const { return setup_.core != nullptr; }
  [[nodiscard]] bool busy() const;
  void dismiss_agents();

 private:
  void begin(Instant now);
  void execute(std::vector<orchestrator::Command> commands, Instant now);
  void look_around(Instant now);  // each second: status file, cancel
  void look_at_the_time(Instant now);

  RunSetup& setup_;
  protocol::Transport& transport_;
  Instant join_until_, next_tick_, next_look_;
  std::optional<Instant> give_up_waiting_at_;
  std::map<protocol::PeerId, protocol::Register> joined_;
  std::set<protocol::PeerId> refused_;  // what they say cannot even be read
  std::optional<StopWish> wish_;
  bool sent_ = false;
};

}  // namespace batchsweep::cli
