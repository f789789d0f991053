// SPDX-License-Identifier: Apache-2.0
#include "orchestrator/start_message.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include "base/check.hpp"
#include "worker/protocol/trial_input.hpp"

namespace batchsweep::orchestrator {
namespace {

Json input_of(const Attempt& attempt, const sweeps::SweepSpec& sweep) {
  const sweeps::TrialSpec& spec = attempt.spec;
  protocol::TrialInput input;
  input.trial_id = sweeps::to_text(attempt.key.trial);
  input.repeat = attempt.key.repeat;
  input.attempt = attempt.key.attempt;
  input.seed = sweeps::trial_seed(spec, attempt.key.repeat);
  input.spec = spec;
  Json json = protocol::to_json(input);
  if (!sweep.rehearsal) return json;
  const sweeps::RehearsalRule* rule = sweeps::matching_rule(*sweep.rehearsal, spec);
  BATCHSWEEP_ASSERT(rule != nullptr);  // checked when the file was read
  Json scripts = Json::array();
  for (std::int64_t rank = 0; rank < spec.world_size; ++rank) {
    scripts.push_back(
        to_json(sweeps::play_script(*rule, spec, rank, attempt.key.repeat, attempt.key.attempt)));
  }
  json["play"] = std::move(scripts);
  return json;
}

// Players play each for themselves.
std::optional<protocol::GroupNetwork> network_of(const Attempt& attempt, const Cluster& cluster,
                                                 const sweeps::SweepSpec& sweep) {
  if (attempt.ranks.size() < 2 || sweep.rehearsal) return std::nullopt;
  const auto host_of = [&](const RankState& rank) { return cluster.device(rank.device).host; };
  const std::size_t first = host_of(attempt.ranks.front());
  protocol::GroupNetwork network;
  network.over_hosts = std::ranges::any_of(
      attempt.ranks, [&](const RankState& rank) { return host_of(rank) != first; });
  if (!network.over_hosts) return network;
  network.interface = sweep.cluster_interface;
  // The first agent sits beside the orchestrator.
  if (const Cluster::Agent* agent = cluster.find(0))
    network.towards = agent->registration.addresses;
  return network;
}

std::map<std::size_t, std::int64_t> ranks_by_host(const Attempt& attempt, const Cluster& cluster) {
  std::map<std::size_t, std::int64_t> ranks;
  for (const RankState& rank : attempt.ranks) ++ranks[cluster.device(rank.device).host];
  return ranks;
}

std::vector<std::string> command_of(const sweeps::TrialSpec& spec, const sweeps::SweepSpec& sweep) {
  const auto runtime = std::ranges::find(sweep.runtimes, spec.runtime, &sweeps::Runtime::name);
  return runtime == sweep.runtimes.end() ? std::vector<std::string>{} : runtime->command;
}

}  // namespace

std::vector<std::pair<protocol::PeerId, protocol::StartRanks>> start_messages(
    const Attempt& attempt, const Cluster& cluster, const sweeps::SweepSpec& sweep) {
  protocol::StartRanks common;
  common.key = attempt.key;
  common.command = command_of(attempt.spec, sweep);
  common.player = sweep.rehearsal && !sweep.rehearsal->simulated;
  common.input = input_of(attempt, sweep);
  common.env = attempt.spec.env;
  common.limits = sweep.limits;
  common.network = network_of(attempt, cluster, sweep);
  const std::map<std::size_t, std::int64_t> on_host = ranks_by_host(attempt, cluster);
  std::vector<std::pair<protocol::PeerId, protocol::StartRanks>> messages;
  std::int64_t rank = 0;
  for (const RankState& state : attempt.ranks) {
    auto message =
        std::ranges::find(messages, state.agent, [](const auto& entry) { return entry.first; });
    if (message == messages.end()) message = messages.insert(messages.end(), {state.agent, common});
    const Device& device = cluster.device(state.device);
    message->second.ranks.push_back({.rank = rank++,
                                     .local_rank = state.local_rank,
                                     .local_world_size = on_host.at(device.host),
                                     .device = device.offer.index});
  }
  return messages;
}

}  // namespace batchsweep::orchestrator
