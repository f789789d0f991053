// SPDX-License-Identifier: Apache-2.0
#include "cli/orchestrator_side.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/units.hpp"
#include "cli/build_id.hpp"
#include "cli/gpu_check.hpp"
#include "orchestrator/transport/transports.hpp"
#include "results/store/cancel_file.hpp"
#include "results/store/status_file.hpp"
#include "worker/protocol/codec.hpp"

namespace batchsweep::cli {
namespace {

using orchestrator::Command;

constexpr Duration kJoinWait = std::chrono::seconds(10);
constexpr Duration kTick = std::chrono::milliseconds(100);
// mpirun kills its ranks two seconds after Ctrl-C: by then everything must be saved.
constexpr Duration kStopWaitUnderMpi = std::chrono::milliseconds(500), kStopWait = std::chrono::seconds(5);

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};

}  // namespace

OrchestratorSide::OrchestratorSide(RunSetup& setup, protocol::Transport& transport, Instant now)
    : setup_(setup), transport_(transport), join_until_(now + kJoinWait), next_tick_(now), next_look_(now) {
  protocol::Configure configure;
  configure.build_id = build_id();
  configure.devices = setup.sweep.devices;
  configure.rehearsal = setup.sweep.rehearsal.has_value();
  configure.program = needed_program(setup.sweep);
  for (protocol::PeerId peer = 0; peer < transport.size(); ++peer) {
    transport_.send(peer, protocol::Role::kAgent, protocol::encode(protocol::OrchestratorMessage(configure)));
  }
}

void OrchestratorSide::receive(protocol::PeerId from, std::string_view bytes, Instant now) {
  look_at_the_time(now);
  protocol::AgentMessage message;
  try {
    message = protocol::decode_agent_message(bytes);
  } catch (const ProtocolError& error) {
    if (refused_.insert(from).second) setup_.progress.say(fmt::format("agent {} is refused: {}", from, error.what()));
    return;
  }
  if (auto* registration = std::get_if<protocol::Register>(&message)) {
    if (setup_.core == nullptr) {
      joined_[from] = std::move(*registration);
    } else {
      execute(setup_.core->handle(orchestrator::AgentJoined{from, std::move(*registration)}, now), now);
    }
  } else if (setup_.core != nullptr) {
    execute(setup_.core->handle(orchestrator::AgentSaid{from, std::move(message)}, now), now);
  }
}

void OrchestratorSide::begin(Instant now) {
  std::vector<protocol::DeviceOffer> offered;
  std::vector<protocol::Register> registrations;
  for (const auto& [peer, registration] : joined_) {
    registrations.push_back(registration);
    offered.insert(offered.end(), registration.devices.begin(), registration.devices.end());
  }
  if (!setup_.options.rerun && !setup_.options.accept_changes && !setup_.sweep.rehearsal)
    refuse_changed_gpus(setup_.results_path, setup_.store->recorded_gpus(), offered);
  make_core(setup_, present_of(registrations), transport_.size() - static_cast<int>(refused_.size()));
  look_at_the_time(now);
  for (auto& [peer, registration] : joined_) {
    execute(setup_.core->handle(orchestrator::AgentJoined{peer, std::move(registration)}, now), now);
  }
  joined_.clear();
}

bool OrchestratorSide::advance(Instant now, bool inbox_empty) {
  sent_ = false;
  if (setup_.core == nullptr) {
    const bool all_here = joined_.size() + refused_.size() == static_cast<std::size_t>(transport_.size());
    if (!all_here && (now < join_until_ || joined_.empty()) && !wish_) return false;
    begin(now);
  }
  look_at_the_time(now);
  if (now >= next_tick_) {
    next_tick_ = now + kTick;
    execute(setup_.core->handle(orchestrator::Tick{inbox_empty}, now), now);
  }
  execute(setup_.recorder->sync(*setup_.core, now), now);
  setup_.store->poll(now);
  if (now >= next_look_) look_around(now);
  setup_.progress.refresh(setup_.core->progress(), now);
  return sent_ || setup_.recorder->pending();
}

void OrchestratorSide::look_around(Instant now) {
  next_look_ = now + std::chrono::seconds(1);
  Json status = setup_.core->status(now);
  status["utc"] = format_utc(setup_.clock.utc_now());
  (void)results::write_status(setup_.results_path, std::move(status));
  if (results::take_cancel_request(setup_.results_path)) stop(StopWish::kDrain, now);
}

// Before anything can be placed.
void OrchestratorSide::look_at_the_time(Instant now) {
  if (setup_.core == nullptr || wish_ || !setup_.time_limit || now < setup_.time_limit->at) return;
  setup_.progress.say(setup_.time_limit->option + " is over");
  stop(StopWish::kDrain, now);
}

void OrchestratorSide::execute(std::vector<Command> commands, Instant) {
  for (Command& command : commands) {
    std::visit(Overloaded{[&](const orchestrator::Send& send) {
                            transport_.send(send.agent, protocol::Role::kAgent, protocol::encode(send.message));
                            sent_ = true;
                          },
                          [&](const orchestrator::NoteStarted& note) { setup_.recorder->note_started(note.key); },
                          [&](const orchestrator::RecordAttempt& record) { setup_.recorder->append(record); },
                          [&](const orchestrator::GiveUpAgent& give_up) {
                            transport_.forget(give_up.agent);
                          },
                          [&](const orchestrator::Say& say) { setup_.progress.say(say.text); }},
               command);
  }
}

void OrchestratorSide::stop(StopWish wish, Instant now) {
  if (wish_ && (*wish_ == StopWish::kNow || *wish_ == wish)) return;
  wish_ = wish;
  const bool at_once = wish == StopWish::kNow;
  setup_.progress.say(at_once ? "stopping now: running trials are killed and recorded as interrupted"
                              : "ending: running trials finish, nothing new starts (once more: stop now)");
  if (at_once) give_up_waiting_at_ = now + (orchestrator::launched_under_mpi() ? kStopWaitUnderMpi : kStopWait);
  if (setup_.core == nullptr) begin(now);
  const auto mode = at_once ? orchestrator::StopMode::kNow : orchestrator::StopMode::kDrain;
  execute(setup_.core->handle(orchestrator::StopRequested{mode}, now), now);
}

bool OrchestratorSide::finished(Instant now) const {
  if (setup_.core == nullptr) return false;
  return (setup_.core->finished() && !setup_.recorder->pending()) || (give_up_waiting_at_ && now >= *give_up_waiting_at_);
}

bool OrchestratorSide::busy() const { return setup_.core != nullptr && setup_.core->progress().running > 0; }

void OrchestratorSide::dismiss_agents() {
  for (protocol::PeerId peer = 0; peer < transport_.size(); ++peer) {
    transport_.send(peer, protocol::Role::kAgent, protocol::encode(protocol::OrchestratorMessage(protocol::Shutdown{})));
  }
}

}  // namespace batchsweep::cli
