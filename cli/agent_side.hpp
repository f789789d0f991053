// SPDX-License-Identifier: Apache-2.0
// The agent in every process of a run: waits for the configuration, takes stock, then is an agent::Agent whose messages travel over the
// transport. Knows nothing of sweeps and results.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "cli/run_options.hpp"
#include "worker/agent/agent.hpp"
#include "worker/protocol/transport.hpp"

namespace batchsweep::cli {

class AgentSide {
 public:
  AgentSide(protocol::Transport& transport, const RunOptions& options);
  void handle(std::string_view bytes, Instant now);
  // Lets the agent look at its trials; true if it had anything to send.
  bool advance(Instant now);
  void stop(Instant now);  // a signal to this process: kill what runs, rest
  [[nodiscard]] bool done() const { return agent_ != nullptr ? agent_->shut_down() : dismissed_; }
  [[nodiscard]] bool busy() const { return agent_ != nullptr && agent_->busy(); }
  [[nodiscard]] std::vector<int> descriptors() const;
  [[nodiscard]] Duration until_next_deadline(Instant now) const;

 private:
  void configure(const protocol::Configure& configure, Instant now);

  protocol::Transport& transport_;
  const RunOptions& options_;
  std::unique_ptr<agent::Launcher> launcher_;
  std::unique_ptr<agent::Agent> agent_;
  bool dismissed_ = false;
};

// Sleeps in poll(2) until a descriptor speaks or the time is over.
void wait_for_any(const std::vector<int>& descriptors, Duration at_most);

}  // namespace batchsweep::cli
