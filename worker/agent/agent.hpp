// SPDX-License-Identifier: Apache-2.0
// The agent of one MPI rank: starts and watches trial processes, kills whole process trees, keeps
// its lease. A state machine: messages and time in, messages out; processes only through the
// Launcher. Holds no LibTorch and no CUDA context, never blocks.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "worker/agent/child_environment.hpp"
#include "worker/agent/device_inventory.hpp"
#include "worker/agent/launcher.hpp"
#include "worker/protocol/messages.hpp"

namespace batchsweep::agent {

struct AgentConfig {
  std::string build_id;
  results::HostRecord host;
  std::vector<protocol::DeviceOffer> devices;
  std::vector<std::string> notices;
  std::vector<std::string> addresses;  // of the host, without its loopback
  double kill_grace_s =
      2;  // a process that SIGKILL does not end by then is given up, and its device with it
  double welcome_wait_s =
      60;  // silence before the first word of the orchestrator; then it is taken for dead
  std::string trial_program,
      player_program;         // absolute paths of the built-in programs; "": not installed
  std::string probe_program;  // batchsweep itself: its `probe` looks at GPUs before each trial; "":
                              // nobody does
  Environment environment;    // what trials inherit, for the record
  std::string sweep_hash;     // of the sweep file as this process sees it; "" where it sees none
};

// The usual configuration on a host: programs beside `own_program` or in ../libexec/batchsweep,
// this process's environment.
[[nodiscard]] AgentConfig make_agent_config(const std::string& build_id, const FoundHost& host,
                                            std::vector<protocol::DeviceOffer> devices,
                                            const std::string& own_program);
// Absolute path of a program of ours: beside `own_program`, then in ../libexec/batchsweep; "" where
// it is in neither.
[[nodiscard]] std::string find_program(const std::string& own_program, const std::string& name);
// The sentence where it is in neither: which program, where it was looked for, what to do.
[[nodiscard]] std::optional<std::string> missing_program(const std::string& own_program,
                                                         const std::string& name);

class Agent {
 public:
  Agent(AgentConfig config, Launcher& launcher);
  ~Agent();

  // Register, once at the start.
  [[nodiscard]] protocol::AgentMessage start(Instant now);
  // One message from the orchestrator; a faulty one becomes a RankEnded (launch failed) or is
  // logged, never an exception.
  void handle(const protocol::OrchestratorMessage& message, Instant now);
  // Reads what the trials said, checks deadlines and the lease, reaps. Call after every poll(2).
  void advance(Instant now);
  // What there is to send, in order.
  [[nodiscard]] std::vector<protocol::AgentMessage> take_outgoing();

  // For poll(2): the descriptors to watch now, and the time until the next deadline.
  [[nodiscard]] std::vector<int> descriptors() const;
  [[nodiscard]] Duration until_next_deadline(Instant now) const;
  [[nodiscard]] bool busy() const;       // any process of ours alive
  [[nodiscard]] bool shut_down() const;  // Shutdown received (or lease lost) and nothing left alive

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace batchsweep::agent
