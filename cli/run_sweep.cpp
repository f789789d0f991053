// SPDX-License-Identifier: Apache-2.0
#include "cli/run_sweep.hpp"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>

#include "base/log.hpp"
#include "cli/agent_side.hpp"
#include "cli/launch_check.hpp"
#include "cli/orchestrator_side.hpp"
#include "cli/run_simulated.hpp"
#include "orchestrator/transport/transports.hpp"
#include "worker/protocol/codec.hpp"

namespace batchsweep::cli {
namespace {

using std::chrono::milliseconds;

constexpr double kCloseSeconds = 5;
// However many agents talk, all of them shall hear a heartbeat in between.
constexpr int kMostAtOnce = 256;

// How long to sleep: descriptors wake us at once, MPI messages do not.
Duration nap(const protocol::Transport& transport, bool busy, Duration until_deadline) {
  const Duration longest = transport.size() == 1 ? milliseconds(100) : busy ? milliseconds(1) : milliseconds(10);
  return std::min(longest, until_deadline);
}

std::vector<int> with_signals(std::vector<int> descriptors, const StopSignals& signals) {
  descriptors.push_back(signals.fd());
  return descriptors;
}

// A process other than the first: an agent until it is told to rest, or has lost its orchestrator.
ExitCode serve_as_agent(protocol::Transport& transport, StopSignals& signals, const Clock& clock, const RunOptions& options) {
  AgentSide agent(transport, options);
  while (!agent.done()) {
    bool awake = false;
    while (std::optional<protocol::Incoming> incoming = transport.receive()) {
      agent.handle(incoming->bytes, clock.now());
      awake = true;
    }
    if (signals.take() == StopWish::kNow) agent.stop(clock.now());
    awake |= agent.advance(clock.now());
    if (awake) continue;
    wait_for_any(with_signals(agent.descriptors(), signals), nap(transport, agent.busy(), agent.until_next_deadline(clock.now())));
  }
  return ExitCode::kDone;
}

void rest_local_agent(AgentSide& agent, protocol::Transport& transport, const Clock& clock) {
  agent.stop(clock.now());
  const Instant until = clock.now() + seconds(kCloseSeconds);
  while (!agent.done() && clock.now() < until) {
    while (transport.receive()) {
    }
    if (!agent.advance(clock.now())) wait_for_any(agent.descriptors(), milliseconds(10));
  }
}

// Process 0: the orchestrator and an agent, stepped in turn.
ExitCode orchestrate(RunSetup& setup, protocol::Transport& transport, StopSignals& signals) {
  const Clock& clock = setup.clock;
  check_setup(setup);
  open_results(setup);
  OrchestratorSide orchestrator(setup, transport, clock.now());
  AgentSide agent(transport, setup.options);
  while (!orchestrator.finished(clock.now())) {
    bool awake = false;
    int taken = 0;
    for (; taken < kMostAtOnce; ++taken) {
      const std::optional<protocol::Incoming> incoming = transport.receive();
      if (!incoming) break;
      if (incoming->to == protocol::Role::kAgent) {
        agent.handle(incoming->bytes, clock.now());
      } else {
        orchestrator.receive(incoming->from, incoming->bytes, clock.now());
      }
      awake = true;
    }
    if (const std::optional<StopWish> wish = signals.take()) orchestrator.stop(*wish, clock.now());
    awake |= agent.advance(clock.now());
    awake |= orchestrator.advance(clock.now(), taken < kMostAtOnce);
    if (awake) continue;
    wait_for_any(with_signals(agent.descriptors(), signals),
                 nap(transport, orchestrator.busy(), agent.until_next_deadline(clock.now())));
  }
  const ExitCode code = finish_run(setup, {.interrupted = signals.interrupted()});
  orchestrator.dismiss_agents();
  rest_local_agent(agent, transport, clock);
  return code;
}

// The others wait for a first message: without one they would wait for ever when this process cannot even start.
void dismiss_all(protocol::Transport& transport) {
  for (protocol::PeerId peer = 1; peer < transport.size(); ++peer) {
    transport.send(peer, protocol::Role::kAgent, protocol::encode(protocol::OrchestratorMessage(protocol::Shutdown{})));
  }
}

ExitCode lead(const RunOptions& options, protocol::Transport& transport, StopSignals& signals) {
  try {
    RunSetup setup(options, system_clock());
    if (setup.sweep.rehearsal && setup.sweep.rehearsal->simulated) {
      const ExitCode code = run_simulated(setup, signals);
      dismiss_all(transport);
      return code;
    }
    return orchestrate(setup, transport, signals);
  } catch (...) {
    dismiss_all(transport);
    (void)transport.close(kCloseSeconds);
    throw;
  }
}

}  // namespace

ExitCode run_sweep(const RunOptions& options) {
  std::signal(SIGPIPE, SIG_IGN);  // a trial that no longer reads is told by its end
  StopSignals signals;
  warn_of_old_pmi();
  const std::unique_ptr<protocol::Transport> transport =
      orchestrator::launched_under_mpi() ? orchestrator::make_mpi_transport() : orchestrator::make_loopback_transport();
  check_launch(transport->size(), options.alone);
  const ExitCode code = transport->self() == 0 ? lead(options, *transport, signals)
                                               : serve_as_agent(*transport, signals, system_clock(), options);
  std::fflush(nullptr);
  // A lost peer makes MPI_Finalize wait for ever: everything is saved, so leave without it.
  if (!transport->close(kCloseSeconds)) _exit(static_cast<int>(code));
  return code;
}

}  // namespace batchsweep::cli
