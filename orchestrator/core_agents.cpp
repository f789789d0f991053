// SPDX-License-Identifier: Apache-2.0
// Who is there: joining, leases, heartbeats.
#include <fmt/format.h>

#include "orchestrator/core_state.hpp"

namespace batchsweep::orchestrator {

std::optional<std::string> Core::State::why_refused(const protocol::Register& registration) const {
  if (registration.protocol_version != protocol::kProtocolVersion) {
    return fmt::format(
        "it speaks protocol {}, the orchestrator {}: start the same batchsweep on all hosts",
        registration.protocol_version, protocol::kProtocolVersion);
  }
  if (!options.build_id.empty() && registration.build_id != options.build_id) {
    return fmt::format(
        "its build is {}, the orchestrator's {}: start the same batchsweep on all hosts",
        registration.build_id, options.build_id);
  }
  if (!options.sweep_hash.empty() && !registration.sweep_hash.empty() &&
      registration.sweep_hash != options.sweep_hash) {
    return "the sweep file that it sees differs from the orchestrator's: give all hosts the same";
  }
  return std::nullopt;
}

// All agents are waited for, because the lowest rank that sees a device owns it.
void Core::State::open_if_complete() {
  const std::size_t joined = cluster.agents().size();
  const auto expected_agents = static_cast<std::size_t>(options.agents_expected) - refused.size();
  const bool waited = now - *began >= seconds(options.join_wait_s);
  if (joined == 0 || (joined < expected_agents && !waited)) return;
  if (joined < expected_agents) {
    say(fmt::format("{} of {} agents have registered within {} s: going on with these", joined,
                    expected_agents, options.join_wait_s));
  }
  open = true;
  for (const auto& [id, agent] : cluster.agents()) welcome(id);
  decide_kinds();
}

void Core::State::welcome(protocol::PeerId id) {
  const Cluster::Claim claim = cluster.claim(id, now);
  send(id, protocol::Welcome{.file_id = options.file_id,
                             .beat_s = options.beat_s,
                             .lease_s = options.lease_s,
                             .refused_devices = claim.refused});
  for (const DeviceId device : claim.owned) {
    const Device& owned = cluster.device(device);
    scheduler.add_device({.id = device,
                          .type = owned.offer.type,
                          .host = owned.host,
                          .unit = owned.unit,
                          .host_name = cluster.hosts()[owned.host].name,
                          .uuid = owned.offer.uuid});
  }
  if (!claim.owned.empty()) return;
  const std::string& host = cluster.hosts()[cluster.find(id)->host].name;
  const char* why =
      claim.refused.empty() ? "it offers no device" : "a lower rank owns all its devices";
  say(fmt::format("agent {} on {} rests: {}", id, host, why));
}

void Core::State::beat() {
  for (auto& [id, agent] : cluster.agents()) {
    if (agent.life != Cluster::Life::kAlive || now - agent.last_beat < seconds(options.beat_s))
      continue;
    agent.last_beat = now;
    send(id, protocol::Beat{});
  }
}

void Core::State::give_up_silent_agents() {
  // Nobody is judged for a time in which the orchestrator itself did not listen: all leases begin
  // anew.
  if (last_tick && now - *last_tick > seconds(options.lease_s / 2)) {
    for (auto& [id, agent] : cluster.agents()) agent.last_heard = now;
    return;
  }
  std::vector<protocol::PeerId> silent;
  for (const auto& [id, agent] : cluster.agents()) {
    if (agent.life == Cluster::Life::kAlive && now - agent.last_heard > seconds(options.lease_s))
      silent.push_back(id);
  }
  for (const protocol::PeerId id : silent)
    give_up(id, fmt::format("nothing was heard of it for {} s", options.lease_s));
}

void Core::State::give_up(protocol::PeerId id, const std::string& why) {
  cluster.give_up(id);
  const std::string& host = cluster.hosts()[cluster.find(id)->host].name;
  say(fmt::format("agent {} on {} is lost: {}", id, host, why));
  out.emplace_back(GiveUpAgent{id});
  for (const DeviceId device : cluster.find(id)->devices) scheduler.remove_device(device);
  std::vector<protocol::RankEnded> ends;  // collected first: ending a rank may end its attempt
  for (const auto& [key, attempt] : attempts) {
    for (std::size_t rank = 0; rank < attempt.ranks.size(); ++rank) {
      const RankState& state = attempt.ranks[rank];
      if (state.agent != id || state.ended) continue;
      protocol::RankEnded end;
      end.key = key;
      end.rank = static_cast<std::int64_t>(rank);
      end.evidence = own_evidence(protocol::EvidenceKind::kAgentLost, state.phase,
                                  fmt::format("agent {} on {} was lost: {}", id, host, why));
      ends.push_back(std::move(end));
    }
  }
  for (const protocol::RankEnded& end : ends) rank_ended(attempts.at(end.key), end);
}

}  // namespace batchsweep::orchestrator
