// SPDX-License-Identifier: Apache-2.0
#include "orchestrator/core.hpp"

#include <ranges>
#include <set>
#include <utility>

#include "base/check.hpp"
#include "orchestrator/core_state.hpp"

namespace batchsweep::orchestrator {
namespace {

SchedulerOptions scheduler_options(const sweeps::SweepSpec& sweep, const CoreOptions& options) {
  SchedulerOptions scheduler;
  scheduler.order = sweep.order;
  scheduler.seed = sweep.seed;
  scheduler.over_hosts = true;
  scheduler.limit_s = sweep.limits.time_s;
  if (options.hard_end) scheduler.hard_end_s = to_seconds(options.hard_end->time_since_epoch());
  if (options.soft_end) scheduler.soft_end_s = to_seconds(options.soft_end->time_since_epoch());
  return scheduler;
}

}  // namespace

Core::State::State(const sweeps::SweepSpec& sweep_, const sweeps::Grid& grid_,
                   const std::vector<results::RecordedState>& recorded, CoreOptions options_)
    : sweep(sweep_),
      grid(grid_),
      options(std::move(options_)),
      table(grid_, sweep_.repeats, sweep_.limits.retries, recorded),
      scheduler(scheduler_options(sweep_, options)) {
  find_kinds();
}

Core::Core(const sweeps::SweepSpec& sweep, const sweeps::Grid& grid,
           std::vector<results::RecordedState> recorded, CoreOptions options)
    : state_(std::make_unique<State>(sweep, grid, recorded, std::move(options))) {}
Core::~Core() = default;

std::vector<Command> Core::handle(const Event& event, Instant now) {
  state_->now = now;
  if (!state_->began) state_->began = now;
  std::visit([&](const auto& e) { state_->on(e); }, event);
  if (state_->open) {
    state_->record_what_cannot_run();
    state_->start_what_can();
  }
  return std::exchange(state_->out, {});
}

bool Core::finished() const {
  const State& state = *state_;
  if (state.table.count(SlotState::kRunning) > 0 || !state.pending.empty()) return false;
  if (state.stop != State::Stop::kNo) return true;
  if (state.table.count(SlotState::kWaiting) == 0 && state.table.count(SlotState::kAbsent) == 0)
    return true;
  // Whatever can start has been started by the last event; now nothing runs that could free a
  // device.
  return state.open && state.skip_cursor == state.table.size() && !state.lingerers_may_return();
}

bool Core::work_left() const {
  const TrialTable& table = state_->table;
  return table.count(SlotState::kWaiting) + table.count(SlotState::kRunning) +
             table.count(SlotState::kRecording) >
         0;
}

void Core::State::on(const AgentJoined& event) {
  if (cluster.find(event.agent) != nullptr) {
    if (!cluster.alive(event.agent)) send(event.agent, protocol::Shutdown{});
    return;
  }
  const std::string& host = event.registration.host.hostname;
  if (const std::optional<std::string> why = why_refused(event.registration)) {
    say("agent " + std::to_string(event.agent) + " on " + host + " is refused: " + *why);
    send(event.agent, protocol::Shutdown{});
    refused.insert(event.agent);
    if (!open) open_if_complete();
    return;
  }
  cluster.join(event.agent, event.registration, now);
  for (const std::string& notice : event.registration.notices) say(host + ": " + notice);
  if (open) {
    welcome(event.agent);
    decide_kinds();
  } else {
    open_if_complete();
  }
}

void Core::State::on(const AgentSaid& event) {
  const Cluster::Agent* agent = cluster.find(event.agent);
  // Refused or given up: it shall end what it runs.
  if (agent == nullptr || agent->life == Cluster::Life::kGivenUp) {
    send(event.agent, protocol::Shutdown{});
    const auto* late = std::get_if<protocol::RankEnded>(&event.message);
    if (late != nullptr) rank_ended_late(event.agent, *late);
    return;
  }
  cluster.heard(event.agent, now);
  std::visit([&](const auto& message) { on(event.agent, message); }, event.message);
}

void Core::State::on(protocol::PeerId agent, const protocol::Register& message) {
  on(AgentJoined{agent, message});
}

void Core::State::on(protocol::PeerId, const protocol::Beat&) {}

void Core::State::on(protocol::PeerId agent, const protocol::RankProgress& message) {
  const auto found = attempts.find(message.key);
  if (found == attempts.end() || message.rank < 0 ||
      std::cmp_greater_equal(message.rank, found->second.ranks.size()))
    return;
  RankState& rank = found->second.ranks[static_cast<std::size_t>(message.rank)];
  if (rank.agent != agent) return;
  rank.phase = message.phase;
  rank.step = message.step;
}

void Core::State::on(protocol::PeerId agent, const protocol::RankEnded& message) {
  const auto found = attempts.find(message.key);
  if (found == attempts.end() || message.rank < 0 ||
      std::cmp_greater_equal(message.rank, found->second.ranks.size()))
    return;
  const RankState& rank = found->second.ranks[static_cast<std::size_t>(message.rank)];
  if (rank.agent == agent && !rank.ended) rank_ended(found->second, message);
}

// The other ranks are told through their agents, whether they share rank 0's host or not.
void Core::State::on(protocol::PeerId agent, const protocol::RendezvousOpened& message) {
  const auto found = attempts.find(message.key);
  if (found == attempts.end() || found->second.ranks.front().agent != agent) return;
  std::set<protocol::PeerId> told;
  for (const RankState& rank : found->second.ranks | std::views::drop(1)) {
    if (cluster.alive(rank.agent) && told.insert(rank.agent).second)
      send(rank.agent, protocol::Meet{message.key, message.at});
  }
}

void Core::State::on(const Tick& event) {
  if (!open) open_if_complete();
  if (!open) return;
  beat();
  if (event.inbox_empty) give_up_silent_agents();
  conclude_overdue();
  if (options.hard_end && now >= *options.hard_end && stop != Stop::kNow) {
    say("the time is up: what runs is stopped");
    request_stop(Stop::kNow);
  }
  last_tick = now;
}

void Core::State::on(const Recorded& event) {
  const auto found = pending.find(event.key);
  if (found == pending.end()) return;
  const Pending record = found->second;
  pending.erase(found);
  if (event.key.attempt == 0) --skips_pending;
  if (record.aside) return;
  table.recorded(record.slot, record.final, record.failure);
  if (!record.final) enqueue(record.slot);
}

void Core::State::on(const StopRequested& event) {
  switch (event.mode) {
    case StopMode::kDrain:
      request_stop(Stop::kDrain);
      return;
    case StopMode::kNow:
      request_stop(Stop::kNow);
      return;
  }
}

void Core::State::request_stop(Stop wanted) {
  if (stop >= wanted) return;
  stop = wanted;
  if (stop != Stop::kNow) return;
  // Under mpirun a Ctrl-C leaves two seconds in all, so nobody waits long for processes to die.
  constexpr double kWait = 0.3;
  for (auto& [key, attempt] : attempts) {
    if (attempt.lingers_since) continue;
    attempt.stopping = true;
    kill(attempt, kWait);
  }
}

void Core::State::send(protocol::PeerId agent, protocol::OrchestratorMessage message) {
  out.emplace_back(std::in_place_type<Send>, agent, std::move(message));
}

void Core::State::say(std::string text) { out.push_back(Say{std::move(text)}); }

}  // namespace batchsweep::orchestrator
