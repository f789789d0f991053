// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/played_sweep.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "orchestrator/simulate/simulated_devices.hpp"
#include "sweeps/trial_spec_json.hpp"

namespace batchsweep::orchestrator {
namespace {

CoreOptions with_agents(CoreOptions options, const SimulatedCluster& cluster) {
  options.agents_expected = cluster.agents();
  return options;
}

Pair pair_of(const protocol::AttemptKey& key) { return {key.trial.value, key.repeat}; }

}  // namespace

std::vector<results::RecordedState> Journal::recorded() const {
  std::map<Pair, results::RecordedState> states;
  for (const auto& [pair, numbers] : started) {
    results::RecordedState& state = states[pair];
    state.attempts = static_cast<std::int32_t>(*numbers.rbegin());
    state.open_starts = static_cast<std::int32_t>(numbers.size());
  }
  for (const auto& [pair, all] : rows) {
    results::RecordedState& state = states[pair];
    for (const Row& row : all) {
      if (row.attempt > 0) --state.open_starts;
      state.executions +=
          row.outcome == results::Outcome::kCrashed || row.outcome == results::Outcome::kLost;
    }
    state.outcome = all.back().outcome;
    state.reason = all.back().reason;
    state.has_row = true;
  }
  std::vector<results::RecordedState> list;
  for (auto& [pair, state] : states) {
    state.trial = {pair.first};
    state.repeat = static_cast<std::int32_t>(pair.second);
    list.push_back(state);
  }
  return list;
}

PlayedSweep::PlayedSweep(const sweeps::SweepSpec& sweep, const sweeps::Grid& grid, Journal& journal,
                         CoreOptions options)
    : sweep_(sweep),
      journal_(journal),
      nodes_(simulated_nodes(sweep)),
      cluster_(sweep, grid),
      core_(sweep, grid, journal.recorded(), with_agents(std::move(options), cluster_)) {}

Ending PlayedSweep::run() {
  constexpr std::int64_t kMost = 2'000'000;
  for (std::int64_t events = 0; !core_.finished(); ++events) {
    if (events == kMost) {
      ADD_FAILURE() << "no end in sight after " << kMost << " events";
      return Ending::kKilled;
    }
    if (!not_durable_.empty() && until_sync_-- <= 0) sync();
    if (core_.finished()) break;
    std::optional<std::pair<Instant, Event>> next = cluster_.next();
    if (!next) {
      if (sync()) continue;
      ADD_FAILURE() << "nothing will happen any more, but the core waits";
      return Ending::kKilled;
    }
    EXPECT_GE(next->first, now_) << "time runs backwards";
    now_ = next->first;
    ended(next->second);
    feed(next->second);
    if (!meddle(events)) return Ending::kKilled;
  }
  return Ending::kFinished;
}

void PlayedSweep::feed(const Event& event) {
  for (const Command& command : core_.handle(event, now_)) execute(command);
  if (check) core_.check_invariants();
}

bool PlayedSweep::sync() {
  if (not_durable_.empty()) return false;
  for (const RecordAttempt& record : std::exchange(not_durable_, {})) {
    const results::TrialRecord& row = record.record.trial;
    std::vector<Journal::Row>& rows = journal_.rows[pair_of(record.key)];
    const auto same = std::ranges::find(rows, record.key.attempt, &Journal::Row::attempt);
    if (record.key.attempt > 0 && same != rows.end()) {
      // The late word of a lost attempt: kept beside the rows.
      EXPECT_EQ(same->outcome, results::Outcome::kLost)
          << "recorded twice: " << protocol::to_text(record.key);
      EXPECT_FALSE(record.final);
      EXPECT_TRUE(journal_.late.insert(record.key).second)
          << "late twice: " << protocol::to_text(record.key);
      feed(Recorded{record.key});
      continue;
    }
    for (const Journal::Row& other : rows) {
      EXPECT_FALSE(other.final) << "a second record after the final one of "
                                << protocol::to_text(record.key);
    }
    rows.push_back({record.key.attempt, record.final, *from_text<results::Outcome>(row.outcome),
                    *from_text<results::Reason>(row.reason), row});
    feed(Recorded{record.key});
  }
  return true;
}

void PlayedSweep::execute(const Command& command) {
  if (const auto* send = std::get_if<Send>(&command)) {
    if (const auto* start = std::get_if<protocol::StartRanks>(&send->message))
      started(send->agent, *start);
    cluster_.execute(*send, now_);
  } else if (const auto* note = std::get_if<NoteStarted>(&command)) {
    EXPECT_TRUE(journal_.started[pair_of(note->key)].insert(note->key.attempt).second)
        << "a number used twice: " << protocol::to_text(note->key);
  } else if (const auto* record = std::get_if<RecordAttempt>(&command)) {
    if (not_durable_.empty()) until_sync_ = sync_after();
    not_durable_.push_back(*record);
  } else if (const auto* give_up = std::get_if<GiveUpAgent>(&command)) {
    given_up_.insert(give_up->agent);
    cluster_.give_up(give_up->agent);
    std::erase_if(in_use_, [&](const auto& entry) { return entry.first.first == give_up->agent; });
  }
}

void PlayedSweep::started(protocol::PeerId agent, const protocol::StartRanks& message) {
  EXPECT_TRUE(journal_.started[pair_of(message.key)].contains(message.key.attempt))
      << "started before it was noted";
  EXPECT_FALSE(given_up_.contains(agent)) << "started on an agent that was given up";
  check_place(agent, message);
  for (const protocol::RankLaunch& rank : message.ranks) {
    const auto [entry, fresh] =
        in_use_.emplace(std::pair(agent, rank.device), std::pair(message.key, rank.rank));
    EXPECT_TRUE(fresh) << "device " << rank.device << " of agent " << agent << " is in use by "
                       << protocol::to_text(entry->second.first);
  }
  if (!sweep_.exclusive_host) return;
  for (const auto& [device, rank] : in_use_) {
    EXPECT_TRUE(device.first != agent || rank.first == message.key)
        << "an exclusive trial has a neighbour";
  }
}

// Pinned trials run where they are pinned to, and each node has equally many ranks where a number
// of nodes was asked for.
void PlayedSweep::check_place(protocol::PeerId agent, const protocol::StartRanks& message) const {
  const sweeps::TrialSpec spec = sweeps::trial_spec_from_json(message.input.at("spec"));
  const protocol::Register& node = nodes_.at(static_cast<std::size_t>(agent));
  if (spec.placement == "each-node") {
    EXPECT_EQ(node.host.hostname, spec.pinned_to);
  }
  for (const protocol::RankLaunch& rank : message.ranks) {
    const protocol::DeviceOffer& device = node.devices.at(static_cast<std::size_t>(rank.device));
    EXPECT_EQ(device.type, spec.gpu);
    if (spec.placement == "each-device") {
      EXPECT_EQ(device.uuid, spec.pinned_to);
    }
  }
  if (spec.num_nodes != "min") {
    EXPECT_EQ(std::ssize(message.ranks) * std::stoll(spec.num_nodes), spec.world_size);
  }
}

void PlayedSweep::ended(const Event& event) {
  const auto* said = std::get_if<AgentSaid>(&event);
  const auto* end = said != nullptr ? std::get_if<protocol::RankEnded>(&said->message) : nullptr;
  if (end == nullptr) return;
  std::erase_if(in_use_, [&](const auto& entry) {
    return entry.first.first == said->agent && entry.second == std::pair(end->key, end->rank);
  });
}

}  // namespace batchsweep::orchestrator
