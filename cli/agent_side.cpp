// SPDX-License-Identifier: Apache-2.0
#include "cli/agent_side.hpp"

#include <poll.h>

#include <algorithm>
#include <cstdlib>

#include "base/error.hpp"
#include "base/log.hpp"
#include "cli/build_id.hpp"
#include "cli/run_setup.hpp"
#include "worker/agent/device_inventory.hpp"
#include "worker/protocol/codec.hpp"

namespace batchsweep::cli {

AgentSide::AgentSide(protocol::Transport& transport, const RunOptions& options) : transport_(transport), options_(options) {}

void AgentSide::handle(std::string_view bytes, Instant now) {
  protocol::OrchestratorMessage message;
  try {
    message = protocol::decode_orchestrator_message(bytes);
  } catch (const ProtocolError& error) {
    if (agent_ != nullptr) throw;
    log_error("this process takes no part in the sweep: {}", error.what());
    dismissed_ = true;
    return;
  }
  if (const auto* first = std::get_if<protocol::Configure>(&message)) {
    configure(*first, now);
  } else if (agent_ != nullptr) {
    agent_->handle(message, now);
  } else if (std::holds_alternative<protocol::Shutdown>(message)) {
    dismissed_ = true;
  }
}

void AgentSide::configure(const protocol::Configure& configure, Instant now) {
  const agent::FoundHost host = agent::take_stock(transport_.self(), options_.program);
  std::vector<protocol::DeviceOffer> devices = agent::offered_devices(host, configure.devices, configure.rehearsal);
  const std::optional<std::string> missing =
      configure.program.empty() ? std::nullopt : agent::missing_program(options_.program, configure.program);
  if (missing) devices.clear();  // each trial would fail here, and that for good
  agent::AgentConfig config = agent::make_agent_config(build_id(), host, std::move(devices), options_.program);
  if (missing) config.notices.push_back(*missing + "; nothing runs on this host");
  config.sweep_hash = sweep_hash(options_.sweep_file);
  for (std::string& line : agent::kill_leftovers()) config.notices.push_back(std::move(line));
  const char* wish = std::getenv("BATCHSWEEP_NULL_LAUNCHER");
  const bool null_launcher = configure.rehearsal && wish != nullptr && std::string_view(wish) == "1";
  if (null_launcher) config.notices.emplace_back("BATCHSWEEP_NULL_LAUNCHER=1: no process is started, every rank ends at once");
  launcher_ = null_launcher ? agent::make_null_launcher() : agent::make_process_launcher();
  agent_ = std::make_unique<agent::Agent>(std::move(config), *launcher_);
  transport_.send(0, protocol::Role::kOrchestrator, protocol::encode(agent_->start(now)));
}

bool AgentSide::advance(Instant now) {
  if (agent_ == nullptr) return false;
  agent_->advance(now);
  const std::vector<protocol::AgentMessage> outgoing = agent_->take_outgoing();
  for (const protocol::AgentMessage& message : outgoing) {
    transport_.send(0, protocol::Role::kOrchestrator, protocol::encode(message));
  }
  return !outgoing.empty();
}

void AgentSide::stop(Instant now) {
  if (agent_ != nullptr) {
    agent_->handle(protocol::OrchestratorMessage(protocol::Shutdown{}), now);
  } else {
    dismissed_ = true;
  }
}

std::vector<int> AgentSide::descriptors() const {
  return agent_ != nullptr ? agent_->descriptors() : std::vector<int>{};
}

Duration AgentSide::until_next_deadline(Instant now) const {
  return agent_ != nullptr ? agent_->until_next_deadline(now) : std::chrono::seconds(1);
}

void wait_for_any(const std::vector<int>& descriptors, Duration at_most) {
  std::vector<pollfd> polled;
  polled.reserve(descriptors.size());
  for (const int fd : descriptors) polled.push_back({fd, POLLIN, 0});
  const Duration wait = std::max(at_most, Duration::zero());
  const timespec time{static_cast<time_t>(wait / std::chrono::seconds(1)),
                      static_cast<long>((wait % std::chrono::seconds(1)).count())};
  (void)ppoll(polled.data(), polled.size(), &time, nullptr);
}

}  // namespace batchsweep::cli
