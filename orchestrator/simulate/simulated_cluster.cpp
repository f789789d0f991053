// SPDX-License-Identifier: Apache-2.0
#include "orchestrator/simulate/simulated_cluster.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <queue>
#include <set>
#include <tuple>
#include <utility>

#include "orchestrator/simulate/played_rank.hpp"
#include "orchestrator/simulate/simulated_devices.hpp"
#include "sweeps/trial_spec_json.hpp"

namespace batchsweep::orchestrator {
namespace {

using protocol::AttemptKey;
using protocol::PeerId;

constexpr Duration kBeat = std::chrono::seconds(1);
constexpr Duration kTickInTrouble = std::chrono::milliseconds(100);
constexpr Duration kKilling =
    std::chrono::milliseconds(1);  // from the word to kill until the end is reported

struct RunningRank {
  protocol::RankEnded end;  // what it will report if nobody kills it
  bool kills_agent = false;
  std::uint64_t number =
      0;  // of its happening in the queue; another number there: it was killed meanwhile
  Instant started{};
};

struct SimulatedAgent {
  protocol::Register registration;
  bool dead = false;    // killed with all that it ran
  bool silent = false;  // lives, but nobody hears it and it hears nobody
  bool given_up = false;
  std::map<std::pair<AttemptKey, std::int64_t>, RunningRank> ranks;
  std::vector<protocol::AgentMessage> unsaid;  // while silent
  std::vector<protocol::OrchestratorMessage> unheard;
  Instant last_arrival{};
  [[nodiscard]] bool quiet() const { return dead || silent; }
};

// Something that happens at a time: a rank ends, or a message arrives.
struct Happening {
  Instant time{};
  std::uint64_t number = 0;  // ties in the order of making
  PeerId agent = 0;
  std::optional<std::pair<AttemptKey, std::int64_t>> rank_ends;
  std::optional<protocol::AgentMessage> said, arrives;  // by the agent; at the orchestrator
};
struct Later {
  bool operator()(const Happening& a, const Happening& b) const {
    return std::tie(a.time, a.number) > std::tie(b.time, b.number);
  }
};

// What is reported of a rank that was killed before its end: as far as it came.
protocol::RankEnded killed(RunningRank rank, Instant now) {
  protocol::RankEnded end = std::move(rank.end);
  double left_s = to_seconds(now - rank.started) - end.measured.setup_s.value_or(0);
  std::size_t finished = 0;
  while (finished < end.steps.time_s.size() && left_s >= end.steps.time_s[finished])
    left_s -= end.steps.time_s[finished++];
  end.steps.time_s.resize(finished);
  end.steps.loss.resize(finished);
  end.measured.loss_first.reset();
  end.measured.loss_last.reset();
  const bool warm = static_cast<std::int64_t>(finished) >= end.steps.warmup_steps;
  end.evidence = {.kind = protocol::EvidenceKind::kKilled,
                  .reason = results::Reason::kStopped,
                  .phase = warm ? results::Phase::kTimed : results::Phase::kWarmup,
                  .message = "was killed: the orchestrator asked for it"};
  if (finished > 0) end.evidence.step = static_cast<std::int64_t>(finished);
  end.measured.window_s.reset();
  end.measured.samples.reset();
  end.measured.applied_steps = static_cast<double>(finished);
  return end;
}

}  // namespace

struct SimulatedCluster::State {
  const sweeps::SweepSpec& sweep;
  std::vector<SimulatedAgent> agents;
  std::priority_queue<Happening, std::vector<Happening>, Later> happenings;
  std::deque<Event> ready;  // at `now`
  Instant now{}, last_tick{}, last_beat{};
  std::uint64_t numbers = 0;
  std::size_t on_the_way = 0;  // messages that travel with a delay
  Travel travel;

  void obey(PeerId agent, const protocol::OrchestratorMessage& message);
  void start(PeerId agent, const protocol::StartRanks& message);
  void kill(PeerId agent, const std::optional<AttemptKey>& key, bool tell);
  void say(PeerId agent, protocol::AgentMessage message);
  [[nodiscard]] bool is_void(const Happening& happening) const;
  void happen(Happening happening);
  void tick();
  [[nodiscard]] bool trouble() const;
};

SimulatedCluster::SimulatedCluster(const sweeps::SweepSpec& sweep, const sweeps::Grid&)
    : state_(std::make_unique<State>(State{.sweep = sweep, .travel = {}})) {
  for (protocol::Register& registration : simulated_nodes(sweep)) {
    state_->ready.push_back(AgentJoined{static_cast<PeerId>(state_->agents.size()), registration});
    state_->agents.push_back(SimulatedAgent{.registration = std::move(registration)});
  }
}
SimulatedCluster::~SimulatedCluster() = default;

int SimulatedCluster::agents() const { return static_cast<int>(state_->agents.size()); }

void SimulatedCluster::execute(const Send& command, Instant now) {
  state_->now = std::max(state_->now, now);
  if (command.agent >= 0 && command.agent < agents()) state_->obey(command.agent, command.message);
}

void SimulatedCluster::give_up(PeerId agent) {
  state_->agents.at(static_cast<std::size_t>(agent)).given_up = true;
}

void SimulatedCluster::State::obey(PeerId id, const protocol::OrchestratorMessage& message) {
  SimulatedAgent& agent = agents[static_cast<std::size_t>(id)];
  if (agent.dead) return;
  if (agent.silent) {
    agent.unheard.push_back(message);
  } else if (const auto* wanted = std::get_if<protocol::StartRanks>(&message)) {
    start(id, *wanted);
  } else if (const auto* unwanted = std::get_if<protocol::KillAttempt>(&message)) {
    kill(id, unwanted->key, true);
  } else if (std::holds_alternative<protocol::Shutdown>(message)) {
    kill(id, std::nullopt, false);
  }
}

void SimulatedCluster::State::start(PeerId id, const protocol::StartRanks& message) {
  SimulatedAgent& agent = agents[static_cast<std::size_t>(id)];
  const sweeps::TrialSpec spec = sweeps::trial_spec_from_json(message.input.at("spec"));
  std::vector<sweeps::PlayScript> scripts;
  for (const Json& script : message.input.at("play")) {
    scripts.push_back(sweeps::play_script_from_json(script));
    // The orchestrator lives above agent 0: it is never killed.
    if (id == 0 && scripts.back().fault == sweeps::Fault::kKillAgent)
      scripts.back().fault = sweeps::Fault::kNone;
  }
  // Ranks of a trial are of one type, so that one limit holds for all.
  const auto limit_bytes = static_cast<double>(
      agent.registration.devices.at(static_cast<std::size_t>(message.ranks.front().device))
          .limit_bytes);
  std::optional<std::int64_t> first_death;
  for (const sweeps::PlayScript& script : scripts) {
    const std::optional<std::int64_t> step = dies_in_step(script, limit_bytes);
    if (step) first_death = std::min(*step, first_death.value_or(*step));
  }
  for (const protocol::RankLaunch& launch : message.ranks) {
    const sweeps::PlayScript& script = scripts.at(static_cast<std::size_t>(launch.rank));
    PlayedRank played = play_rank({.script = script,
                                   .spec = spec,
                                   .limits = message.limits,
                                   .limit_bytes = limit_bytes,
                                   .peer_dies_in_step = first_death});
    played.end.key = message.key;
    played.end.rank = launch.rank;
    RunningRank& running = agent.ranks[{message.key, launch.rank}];
    running.end = std::move(played.end);
    running.kills_agent = played.kills_agent;
    running.number = ++numbers;
    running.started = now;
    happenings.push({.time = now + seconds(played.ends_after_s),
                     .number = running.number,
                     .agent = id,
                     .rank_ends = std::pair(message.key, launch.rank),
                     .said = {},
                     .arrives = {}});
  }
}

// All ranks of one attempt, or all there are.
void SimulatedCluster::State::kill(PeerId id, const std::optional<AttemptKey>& key, bool tell) {
  SimulatedAgent& agent = agents[static_cast<std::size_t>(id)];
  for (auto rank = agent.ranks.begin(); rank != agent.ranks.end();) {
    if (key && rank->first.first != *key) {
      ++rank;
      continue;
    }
    if (tell) {
      protocol::RankEnded end = killed(std::move(rank->second), now);
      happenings.push({.time = now + kKilling,
                       .number = ++numbers,
                       .agent = id,
                       .rank_ends = {},
                       .said = std::move(end),
                       .arrives = {}});
    }
    rank = agent.ranks.erase(rank);
  }
}

void SimulatedCluster::State::say(PeerId id, protocol::AgentMessage message) {
  SimulatedAgent& agent = agents[static_cast<std::size_t>(id)];
  if (agent.dead) return;
  if (agent.silent) {
    agent.unsaid.push_back(std::move(message));
    return;
  }
  if (!travel) {
    ready.push_back(AgentSaid{id, std::move(message)});
    return;
  }
  for (const Duration delay : travel(id, message)) {
    agent.last_arrival = std::max(agent.last_arrival, now + delay);
    happenings.push({.time = agent.last_arrival,
                     .number = ++numbers,
                     .agent = id,
                     .rank_ends = {},
                     .said = {},
                     .arrives = message});
    ++on_the_way;
  }
}

// The rank was killed since: nothing will happen.
bool SimulatedCluster::State::is_void(const Happening& happening) const {
  if (!happening.rank_ends) return false;
  const SimulatedAgent& agent = agents[static_cast<std::size_t>(happening.agent)];
  const auto rank = agent.ranks.find(*happening.rank_ends);
  return rank == agent.ranks.end() || rank->second.number != happening.number;
}

void SimulatedCluster::State::happen(Happening happening) {
  now = std::max(now, happening.time);
  if (happening.arrives) {
    --on_the_way;
    ready.push_back(AgentSaid{happening.agent, *std::move(happening.arrives)});
    return;
  }
  if (happening.said) {
    say(happening.agent, *std::move(happening.said));
    return;
  }
  SimulatedAgent& agent = agents[static_cast<std::size_t>(happening.agent)];
  const auto rank = agent.ranks.find(*happening.rank_ends);
  RunningRank ended = std::move(rank->second);
  agent.ranks.erase(rank);
  if (ended.kills_agent) {
    agent.dead = true;
    agent.ranks.clear();
    return;
  }
  say(happening.agent, std::move(ended.end));
}

// An agent that is gone and not yet missed, or messages on their way: then time passes in small
// steps, as it does in the world.
bool SimulatedCluster::State::trouble() const {
  const auto missing = [](const SimulatedAgent& agent) { return agent.quiet() && !agent.given_up; };
  return on_the_way > 0 || (travel && !happenings.empty()) || std::ranges::any_of(agents, missing);
}

void SimulatedCluster::State::tick() {
  if (now - last_beat >= kBeat) {
    last_beat = now;
    for (std::size_t id = 0; id < agents.size(); ++id) {
      if (!agents[id].quiet()) say(static_cast<PeerId>(id), protocol::Beat{});
    }
  }
  ready.push_back(Tick{});
  last_tick = now;
}

std::optional<std::pair<Instant, Event>> SimulatedCluster::next() {
  State& state = *state_;
  while (state.ready.empty()) {
    while (!state.happenings.empty() && state.is_void(state.happenings.top())) {
      state.happenings.pop();
    }
    const bool trouble = state.trouble();
    const bool something = !state.happenings.empty();
    if (!something && !trouble) return std::nullopt;
    const Instant next_tick = state.last_tick + (trouble ? kTickInTrouble : kBeat);
    if (something && state.happenings.top().time <= next_tick) {
      Happening happening = state.happenings.top();
      state.happenings.pop();
      state.happen(std::move(happening));
      continue;
    }
    // Where nothing can go wrong, time jumps: the core knows not to judge a silence that it slept
    // through.
    state.now = std::max(state.now, trouble ? next_tick : state.happenings.top().time);
    state.tick();
  }
  Event event = std::move(state.ready.front());
  state.ready.pop_front();
  return std::pair(state.now, std::move(event));
}

void SimulatedCluster::silence(PeerId agent) {
  state_->agents.at(static_cast<std::size_t>(agent)).silent = true;
}

void SimulatedCluster::unsilence(PeerId id) {
  SimulatedAgent& agent = state_->agents.at(static_cast<std::size_t>(id));
  agent.silent = false;
  for (protocol::AgentMessage& message : std::exchange(agent.unsaid, {})) {
    state_->say(id, std::move(message));
  }
  for (const protocol::OrchestratorMessage& message : std::exchange(agent.unheard, {})) {
    state_->obey(id, message);
  }
}

void SimulatedCluster::set_travel(Travel travel) { state_->travel = std::move(travel); }

std::size_t SimulatedCluster::ranks_alive() const {
  std::size_t alive = 0;
  for (const SimulatedAgent& agent : state_->agents)
    alive += agent.quiet() || agent.given_up ? 0 : agent.ranks.size();
  return alive;
}

}  // namespace batchsweep::orchestrator
