// SPDX-License-Identifier: Apache-2.0
// A trial's way from placement to record.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "orchestrator/core_state.hpp"
#include "orchestrator/record_attempt.hpp"
#include "orchestrator/start_message.hpp"

namespace batchsweep::orchestrator {
namespace {

constexpr int kMostRelaunches = 3;
// So long a sweep with work left waits for a process that cannot be killed; its device may be the
// only one of its type.
constexpr double kLinger = 60;

}  // namespace

bool Core::State::may_start() const {
  return open && stop == Stop::kNo && (options.max_trials < 0 || begun < options.max_trials);
}

void Core::State::start_what_can() {
  while (may_start()) {
    const std::optional<Placement> placement = scheduler.place(now_s());
    if (!placement) return;
    start(*placement);
  }
}

void Core::State::start(const Placement& placement) {
  const std::size_t trial = table.trial_of(placement.slot);
  Attempt attempt;
  attempt.slot = placement.slot;
  attempt.key = {.trial = grid.id(trial),
                 .repeat = table.repeat_of(placement.slot),
                 .attempt = table.start(placement.slot)};
  attempt.spec = grid.spec(trial);
  attempt.started = now;
  std::map<std::size_t, std::int64_t> ranks_on_host;
  for (const DeviceId id : placement.devices) {
    const Device& device = cluster.device(id);
    RankState rank;
    rank.device = id;
    rank.agent = device.agent;
    rank.local_rank = ranks_on_host[device.host]++;
    attempt.ranks.push_back(std::move(rank));
    cluster.hold(id, attempt.key);
  }
  for (const auto& [host, count] : ranks_on_host)
    cluster.host(host).attempts.push_back(attempt.key);
  ++begun;
  out.push_back(NoteStarted{attempt.key});
  send_start(attempt);
  note_neighbours(attempts.emplace(attempt.key, std::move(attempt)).first->second);
}

void Core::State::send_start(const Attempt& attempt) {
  for (auto& [agent, message] : start_messages(attempt, cluster, sweep))
    send(agent, std::move(message));
}

// The attempt and all that run beside it now have so many neighbours at least.
void Core::State::note_neighbours(const Attempt& fresh) {
  for (const RankState& rank : fresh.ranks) {
    const Host& host = cluster.hosts()[cluster.device(rank.device).host];
    const auto others = static_cast<std::int64_t>(host.attempts.size()) - 1;
    for (const protocol::AttemptKey& key : host.attempts) {
      Attempt& attempt = attempts.at(key);
      attempt.neighbours_max = std::max(attempt.neighbours_max, others);
    }
  }
}

void Core::State::rank_ended(Attempt& attempt, const protocol::RankEnded& message) {
  RankState& rank = attempt.ranks[static_cast<std::size_t>(message.rank)];
  rank.ended = message;
  rank.arrival = attempt.ended++;
  rank.phase = message.evidence.phase;
  if (attempt.lingers_since) {
    lingering_rank_ended(attempt, rank);
    return;
  }
  if (std::cmp_equal(attempt.ended, attempt.ranks.size())) {
    conclude(attempt);
  } else if (message.evidence.kind != protocol::EvidenceKind::kCompleted && !attempt.deadline) {
    // The others may sit in a collective that nobody will ever join: they are ended from outside,
    // at once.
    kill(attempt, options.verdict_wait_s);
  }
}

void Core::State::kill(Attempt& attempt, double wait_s) {
  std::vector<protocol::PeerId> told;
  for (const RankState& rank : attempt.ranks) {
    if (rank.ended || std::ranges::find(told, rank.agent) != told.end()) continue;
    told.push_back(rank.agent);
    if (cluster.alive(rank.agent)) send(rank.agent, protocol::KillAttempt{attempt.key});
  }
  const Instant wanted = now + seconds(wait_s);
  attempt.deadline = attempt.deadline ? std::min(*attempt.deadline, wanted) : wanted;
}

void Core::State::conclude_overdue() {
  std::vector<protocol::AttemptKey> overdue;
  for (const auto& [key, attempt] : attempts) {
    if (attempt.lingers_since || !attempt.deadline || now < *attempt.deadline) continue;
    if (attempt.stopping || !awaits_lease(attempt)) overdue.push_back(key);
  }
  for (const protocol::AttemptKey& key : overdue) conclude(attempts.at(key));
}

// All that is known is that a peer vanished, and an agent of a rank without an end is silent: its
// lease will tell.
bool Core::State::awaits_lease(const Attempt& attempt) const {
  bool silent = false;
  for (const RankState& rank : attempt.ranks) {
    if (rank.ended && rank.ended->evidence.kind < protocol::EvidenceKind::kLostPeer) return false;
    if (!rank.ended)
      silent = silent || now - cluster.find(rank.agent)->last_heard > seconds(2 * options.beat_s);
  }
  return silent;
}

// One piece of evidence a rank, in the order of arrival; what is missing counts as killed.
std::vector<RankEvidence> Core::State::evidence_of(const Attempt& attempt) const {
  std::vector<const RankState*> ended;
  for (const RankState& rank : attempt.ranks) {
    if (rank.ended) ended.push_back(&rank);
  }
  std::ranges::sort(ended, {}, &RankState::arrival);
  std::vector<RankEvidence> evidence;
  for (const RankState* rank : ended)
    evidence.push_back({rank->ended->rank, rank->ended->evidence});
  for (std::size_t rank = 0; rank < attempt.ranks.size(); ++rank) {
    if (attempt.ranks[rank].ended) continue;
    evidence.push_back({static_cast<std::int64_t>(rank),
                        own_evidence(protocol::EvidenceKind::kKilled, attempt.ranks[rank].phase,
                                     "was killed, its end was not waited for")});
  }
  return evidence;
}

void Core::State::conclude(Attempt& attempt) {
  const Verdict verdict = judge(evidence_of(attempt), attempt.stopping);
  if (relaunch(attempt, verdict)) return;

  const bool final = table.end(attempt.slot, verdict.outcome, verdict.reason);
  results::AttemptRecord record = record_attempt(attempt, verdict, cluster, sweep.site, now);
  if (verdict.outcome == results::Outcome::kCompleted) {
    const TrialClass& known = class_of(attempt.slot);
    scheduler.learn(known.family, known.work, to_seconds(now - attempt.started));
  }
  judge_devices(attempt, verdict, record);
  pending[attempt.key] = {
      .slot = attempt.slot, .final = final, .failure = results::is_failure(verdict.outcome)};
  out.push_back(RecordAttempt{.key = attempt.key, .final = final, .record = std::move(record)});
  if (verdict.outcome == results::Outcome::kLost) lost.insert_or_assign(attempt.key, attempt);
  leave_devices(attempt);
}

// The trial was counted as lost and may run again by now, so this is one more record of the old
// attempt and changes no row.
void Core::State::rank_ended_late(protocol::PeerId agent, const protocol::RankEnded& message) {
  const auto found = lost.find(message.key);
  if (found == lost.end() || pending.contains(message.key) || stop == Stop::kNow) return;
  Attempt& attempt = found->second;
  if (message.rank < 0 || std::cmp_greater_equal(message.rank, attempt.ranks.size())) return;
  RankState& rank = attempt.ranks[static_cast<std::size_t>(message.rank)];
  if (rank.agent != agent) return;
  rank.ended = message;
  const auto missing = [](const RankState& state) {
    return !state.ended || state.ended->evidence.kind == protocol::EvidenceKind::kAgentLost;
  };
  if (std::ranges::any_of(attempt.ranks, missing)) return;
  Verdict verdict = judge(evidence_of(attempt), false);
  verdict.evidence.message = "came after its agent was given up: " + verdict.evidence.message;
  pending[attempt.key] = {.slot = attempt.slot, .final = false, .failure = false, .aside = true};
  out.push_back(
      RecordAttempt{.key = attempt.key,
                    .final = false,
                    .record = record_attempt(attempt, verdict, cluster, sweep.site, now)});
  lost.erase(found);
}

// Nothing of the trial has happened yet, so it is not an attempt of its own.
bool Core::State::relaunch(Attempt& attempt, const Verdict& verdict) {
  const bool all_ended = std::cmp_equal(attempt.ended, attempt.ranks.size());
  if (!is_launch_fault(verdict) || attempt.relaunches == kMostRelaunches || !all_ended ||
      stop != Stop::kNo)
    return false;
  for (const RankState& rank : attempt.ranks) {
    if (!cluster.alive(rank.agent)) return false;
  }
  ++attempt.relaunches;
  attempt.ended = 0;
  attempt.deadline.reset();
  for (RankState& rank : attempt.ranks) {
    rank.ended.reset();
    rank.phase = results::Phase::kLaunch;
    rank.step = 0;
  }
  send_start(attempt);
  return true;
}

// A device that is not what it was when it was offered, or that crashes whatever runs on it, takes
// no more trials; the record says so.
void Core::State::judge_devices(const Attempt& attempt, const Verdict& verdict,
                                results::AttemptRecord& record) {
  if (verdict.outcome == results::Outcome::kCompleted) {
    for (const RankState& rank : attempt.ranks)
      quarantine.completed(cluster.device(rank.device).unit);
    return;
  }
  if (!verdict.guilty_rank) return;
  const DeviceId device = attempt.ranks[static_cast<std::size_t>(*verdict.guilty_rank)].device;
  if (verdict.reason == results::Reason::kDeviceNotClean ||
      verdict.reason == results::Reason::kDeviceAbsent) {
    take_out_of_service(device, verdict.evidence.message);
    return;
  }
  if (!options.quarantine || verdict.outcome != results::Outcome::kCrashed) return;
  const auto crashed = quarantine.crashed(cluster.device(device).unit, attempt.key.trial);
  if (crashed.empty()) return;
  std::string trials;
  for (const sweeps::TrialId trial : crashed)
    trials += (trials.empty() ? "" : ", ") + sweeps::to_text(trial);
  const std::string why = fmt::format(
      "{} different trials crashed on it, none completed in between ({})", crashed.size(), trials);
  record.trial.message += fmt::format("; device {} is out of service from here on: {}",
                                      cluster.device(device).offer.uuid, why);
  take_out_of_service(device, why + "; where the trials are to blame: --no-quarantine");
}

// Gives the devices back, but for those that a process still sits on. May end the attempt's life.
void Core::State::leave_devices(Attempt& attempt) {
  bool lingers = false;
  for (const RankState& state : attempt.ranks) {
    std::erase(cluster.host(cluster.device(state.device).host).attempts, attempt.key);
    if (state.ended) {
      release(state.device);
    } else {
      lingers = true;
    }
  }
  if (lingers) {
    attempt.lingers_since = now;
  } else {
    attempts.erase(attempts.find(attempt.key));
  }
}

void Core::State::release(DeviceId device) {
  cluster.release(device);
  scheduler.release(device);
}

void Core::State::take_out_of_service(DeviceId id, const std::string& why) {
  const Device& device = cluster.device(id);
  say(fmt::format("{} ({}) on {} is out of service: {}", device.offer.type, device.offer.uuid,
                  cluster.hosts()[device.host].name, why));
  cluster.take_out_of_service(id, why);
  for (const DeviceId view : cluster.views_of(id)) scheduler.remove_device(view);
}

void Core::State::lingering_rank_ended(Attempt& attempt, const RankState& rank) {
  release(rank.device);
  if (std::cmp_equal(attempt.ended, attempt.ranks.size())) {
    attempts.erase(attempts.find(attempt.key));
  }
}

bool Core::State::lingerers_may_return() const {
  if (scheduler.waiting() == 0 || !may_start()) return false;
  return std::ranges::any_of(attempts, [&](const auto& entry) {
    return entry.second.lingers_since && now - *entry.second.lingers_since < seconds(kLinger);
  });
}

}  // namespace batchsweep::orchestrator
