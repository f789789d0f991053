// SPDX-License-Identifier: Apache-2.0
// What people see of the core, and what must always hold in it.
#include <algorithm>
#include <map>
#include <set>

#include "base/check.hpp"
#include "orchestrator/core_state.hpp"

namespace batchsweep::orchestrator {
namespace {

constexpr std::size_t kNextShown = 10;

Json attempt_json(const Attempt& attempt, const Device& device, Instant now) {
  Json json;
  json["trial"] = sweeps::to_text(attempt.key.trial);
  json["repeat"] = attempt.key.repeat;
  json["attempt"] = attempt.key.attempt;
  json["model"] = attempt.spec.model;
  json["precision"] = attempt.spec.precision;
  json["batch_size"] = attempt.spec.batch_size;
  json["world_size"] = attempt.spec.world_size;
  for (std::size_t rank = 0; rank < attempt.ranks.size(); ++rank) {
    const RankState& state = attempt.ranks[rank];
    if (state.device != device.id) continue;
    json["rank"] = rank;
    json["phase"] = batchsweep::to_text(state.phase);
    json["step"] = state.step;
  }
  json["since_s"] = to_seconds(now - attempt.started);
  return json;
}

// A physical device shows the view that is in use, else the first.
Json devices_json(const Cluster& cluster, const std::map<protocol::AttemptKey, Attempt>& attempts,
                  Instant now) {
  Json list = Json::array();
  std::set<std::size_t> shown;
  const auto uses = [&](const Device& device, const Attempt& attempt) {
    return std::ranges::find(attempt.ranks, device.id, &RankState::device) != attempt.ranks.end();
  };
  for (const Device& device : cluster.devices()) {
    const auto& holder = cluster.holder(device.id);
    const auto attempt = holder ? attempts.find(*holder) : attempts.end();
    if (attempt != attempts.end() && !uses(device, attempt->second)) continue;
    if (!shown.insert(device.unit).second) continue;
    Json json;
    json["host"] = cluster.hosts()[device.host].name;
    json["agent"] = device.agent;
    json["device"] = device.offer.index;
    json["type"] = device.offer.type;
    json["uuid"] = device.offer.uuid;
    const bool running = attempt != attempts.end() && !attempt->second.lingers_since;
    const auto& out_of_service = cluster.out_of_service(device.id);
    json["state"] = out_of_service               ? "out of service"
                    : !cluster.usable(device.id) ? "gone"
                    : running                    ? "running"
                    : holder                     ? "stuck"
                                                 : "idle";
    if (out_of_service) json["why"] = *out_of_service;
    if (running) json["runs"] = attempt_json(attempt->second, device, now);
    list.push_back(std::move(json));
  }
  return list;
}

// Longest work of one device type, if its devices share it evenly.
std::optional<double> expected_left_s(const Core::State& state) {
  std::map<std::string, double> device_seconds;
  for (const KindOfTrial& kind : state.kinds) {
    if (device_seconds.contains(kind.needs.gpu)) continue;
    const std::optional<double> left_s = state.scheduler.device_seconds_left(kind.needs.gpu);
    if (!left_s) return std::nullopt;
    device_seconds[kind.needs.gpu] = *left_s;
  }
  for (const auto& [key, attempt] : state.attempts) {
    const TrialClass& known = state.class_of(attempt.slot);
    std::optional<double> expected_s = state.scheduler.expected_s(known.family, known.work);
    if (!expected_s) expected_s = state.scheduler.mean_s();
    if (!expected_s) return std::nullopt;
    const double left_s = std::max(0.0, *expected_s - to_seconds(state.now - attempt.started));
    device_seconds[attempt.spec.gpu] += left_s * static_cast<double>(attempt.ranks.size());
  }
  double longest = 0;
  for (const auto& [gpu, work] : device_seconds) {
    const auto devices = std::ranges::count_if(state.cluster.devices(), [&](const Device& device) {
      return device.offer.type == gpu && state.cluster.usable(device.id);
    });
    if (devices > 0) longest = std::max(longest, work / static_cast<double>(devices));
  }
  return longest;
}

// For each shape of which trials wait: how many, and why the first of them does.
Json waits_json(const Core::State& state) {
  Json list = Json::array();
  std::set<ShapeId> told;
  for (const KindOfTrial& kind : state.kinds) {
    const std::size_t waiting = state.scheduler.waiting(kind.shape);
    if (waiting == 0 || !told.insert(kind.shape).second) continue;
    const Needs& needs = kind.needs;
    list.push_back({{"gpu", needs.gpu},
                    {"world_size", needs.world_size},
                    {"num_nodes", needs.num_nodes ? std::to_string(*needs.num_nodes) : "min"},
                    {"pinned_to", needs.pinned_host + needs.pinned_device},
                    {"waiting", waiting},
                    {"why", state.scheduler.why(kind.shape, state.now_s())}});
  }
  return list;
}

}  // namespace

Progress Core::progress() const {
  const TrialTable& table = state_->table;
  Progress progress;
  progress.total = static_cast<std::int64_t>(table.size());
  progress.done = table.count(SlotState::kDone);
  progress.failures = table.failures();
  progress.running = table.count(SlotState::kRunning) + table.count(SlotState::kRecording);
  progress.waiting = table.count(SlotState::kWaiting);
  progress.absent = table.count(SlotState::kAbsent);
  progress.devices = state_->cluster.units();
  progress.devices_busy = state_->cluster.units_busy();
  progress.left_s = expected_left_s(*state_);
  return progress;
}

Json Core::status(Instant now) const {
  const State& state = *state_;
  const Progress counts = progress();
  Json json;
  json["counts"] = {{"total", counts.total},       {"done", counts.done},
                    {"failures", counts.failures}, {"running", counts.running},
                    {"waiting", counts.waiting},   {"absent", counts.absent}};
  json["left_s"] = counts.left_s ? Json(*counts.left_s) : Json();
  json["stopping"] = state.stop != State::Stop::kNo;
  json["devices"] = devices_json(state.cluster, state.attempts, now);
  json["next"] = Json::array();
  for (const WaitingReason& reason : state.scheduler.explain(kNextShown, state.now_s())) {
    const std::size_t trial = state.table.trial_of(reason.slot);
    const char* stopped =
        state.stop != State::Stop::kNo ? "the sweep is being stopped" : "--max-trials is reached";
    const sweeps::TrialSpec spec = state.grid.spec(trial);
    json["next"].push_back({{"trial", sweeps::to_text(state.grid.id(trial))},
                            {"gpu", spec.gpu},
                            {"model", spec.model},
                            {"precision", spec.precision},
                            {"batch_size", spec.batch_size},
                            {"world_size", spec.world_size},
                            {"repeat", state.table.repeat_of(reason.slot)},
                            {"why", state.open && !state.may_start() ? stopped : reason.why}});
  }
  json["waits"] = waits_json(state);
  json["skipped"] = Json::array();
  for (const KindOfTrial& kind : state.kinds) {
    if (kind.why.empty()) continue;
    json["skipped"].push_back({{"gpu", kind.needs.gpu},
                               {"world_size", kind.needs.world_size},
                               {"precision", kind.precision},
                               {"why", kind.why}});
  }
  return json;
}

void Core::check_invariants() const {
  const State& state = *state_;
  const TrialTable& table = state.table;
  table.check_invariants();

  std::set<SlotId> running_slots;
  std::map<std::size_t, protocol::AttemptKey> held;  // unit -> the attempt that must hold it
  std::map<std::size_t, std::set<protocol::AttemptKey>> on_host;
  for (const auto& [key, attempt] : state.attempts) {
    BATCHSWEEP_ASSERT(key == attempt.key);
    if (!attempt.lingers_since) {
      BATCHSWEEP_ASSERT(table.slot(attempt.slot).state == SlotState::kRunning);
      BATCHSWEEP_ASSERT(running_slots.insert(attempt.slot).second);
    }
    int ended = 0;
    for (const RankState& rank : attempt.ranks) {
      ended += rank.ended.has_value();
      const Device& device = state.cluster.device(rank.device);
      BATCHSWEEP_ASSERT(rank.ended || state.cluster.alive(rank.agent));
      if (!attempt.lingers_since) on_host[device.host].insert(key);
      if (attempt.lingers_since && rank.ended) continue;
      BATCHSWEEP_ASSERT(held.emplace(device.unit, key).second);
      BATCHSWEEP_ASSERT(state.cluster.holder(rank.device) == key);
    }
    BATCHSWEEP_ASSERT(ended == attempt.ended &&
                      static_cast<std::size_t>(ended) < attempt.ranks.size());
  }
  BATCHSWEEP_ASSERT(static_cast<std::int64_t>(running_slots.size()) ==
                    table.count(SlotState::kRunning));

  for (const Device& device : state.cluster.devices()) {
    const bool is_held = state.cluster.holder(device.id).has_value();
    BATCHSWEEP_ASSERT(is_held == held.contains(device.unit));
    if (state.scheduler.is_free(device.id))
      BATCHSWEEP_ASSERT(!is_held && state.cluster.usable(device.id));
    if (!state.sweep.exclusive_host && !is_held && state.cluster.usable(device.id)) {
      BATCHSWEEP_ASSERT(state.scheduler.is_free(device.id));
    }
  }
  for (std::size_t host = 0; host < state.cluster.hosts().size(); ++host) {
    const std::vector<protocol::AttemptKey>& keys = state.cluster.hosts()[host].attempts;
    BATCHSWEEP_ASSERT(std::set<protocol::AttemptKey>(keys.begin(), keys.end()) == on_host[host]);
    BATCHSWEEP_ASSERT(keys.size() == on_host[host].size());
    if (state.sweep.exclusive_host) BATCHSWEEP_ASSERT(keys.size() <= 1);
  }

  std::int64_t recording = 0;
  std::size_t skips = 0;
  for (const auto& [key, record] : state.pending) {
    skips += key.attempt == 0;
    recording += !record.aside;
    if (!record.aside) BATCHSWEEP_ASSERT(table.slot(record.slot).state == SlotState::kRecording);
  }
  BATCHSWEEP_ASSERT(recording == table.count(SlotState::kRecording));
  BATCHSWEEP_ASSERT(skips == state.skips_pending);

  std::size_t waiting = 0;
  for (SlotId slot = 0; slot < table.size(); ++slot) {
    if (table.slot(slot).state != SlotState::kWaiting) continue;
    waiting += state.kind(slot).fate == KindOfTrial::Fate::kRuns;
  }
  BATCHSWEEP_ASSERT(waiting == state.scheduler.waiting());
}

}  // namespace batchsweep::orchestrator
