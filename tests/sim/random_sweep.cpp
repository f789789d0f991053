// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/random_sweep.hpp"

#include <algorithm>
#include <map>

#include "orchestrator/simulate/simulated_devices.hpp"
#include "sweeps/rehearsal.hpp"

namespace batchsweep::orchestrator {
namespace {

using results::Outcome;
using sweeps::Fault;

constexpr std::uint64_t kMiB = 1024 * 1024;
constexpr std::int64_t kSteps = 4;  // one of them warm-up

sweeps::DeclaredDevice device(const std::string& name, std::uint64_t memory_bytes) {
  sweeps::DeclaredDevice declared;
  declared.name = name;
  declared.memory_bytes = memory_bytes;
  declared.reserve_bytes = 10 * kMiB;
  return declared;
}

// Worked out anew, from the nodes alone.
bool could_hold(const sweeps::SweepSpec& sweep, const sweeps::TrialSpec& trial) {
  std::int64_t total = 0, hosts_with_a_share = 0;
  const std::int64_t nodes = trial.num_nodes == "min" ? 1 : std::stoll(trial.num_nodes);
  for (const protocol::Register& node : simulated_nodes(sweep)) {
    std::int64_t here = 0;
    for (const protocol::DeviceOffer& offer : node.devices) {
      here += offer.type == trial.gpu;
      if (trial.placement == "each-device" && offer.uuid == trial.pinned_to) return true;
    }
    if (trial.placement == "each-node" && node.host.hostname == trial.pinned_to)
      return here >= trial.world_size;
    total += here;
    hosts_with_a_share += here * nodes >= trial.world_size;
  }
  if (trial.placement != "any") return false;
  return trial.num_nodes == "min" ? total >= trial.world_size : hosts_with_a_share >= nodes;
}

std::uint64_t limit_of(const sweeps::SweepSpec& sweep, const std::string& type) {
  const auto declared = std::ranges::find(sweep.devices, type, &sweeps::DeclaredDevice::name);
  return *declared->memory_bytes - declared->reserve_bytes;
}

}  // namespace

std::int64_t RandomSweep::draw(std::int64_t from, std::int64_t to) {
  return from + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(to - from + 1));
}
bool RandomSweep::chance(double probability) {
  return static_cast<double>(random() >> 11) * 0x1.0p-53 < probability;
}

RandomSweep::RandomSweep(std::uint64_t seed) : random(seed) {
  spec.name = "random";
  spec.seed = spec.base.seed = seed;
  spec.base.origin = sweeps::Origin::kRehearsed;
  spec.base.warmup_steps = 1;
  spec.base.timed_steps = kSteps - 1;
  // Longer than a lease, so that a lost agent is known before its peers have waited for too long.
  spec.limits.stall_s = 8;
  spec.limits.setup_s = 9;
  spec.limits.retries = draw(0, 2);
  spec.repeats = draw(1, 2);
  spec.order = static_cast<sweeps::Order>(draw(0, 2));
  spec.exclusive_host = chance(0.15);
  spec.devices = {device("small", 100 * kMiB), device("big", 400 * kMiB),
                  device("elsewhere", 100 * kMiB)};

  sweeps::Rehearsal& rehearsal = spec.rehearsal.emplace();
  rehearsal.simulated = true;
  for (std::int64_t kinds = draw(1, 2); kinds > 0; --kinds) {
    sweeps::RehearsalNode node;
    node.count = draw(1, 2);
    node.devices["small"] = draw(1, 3);
    if (chance(0.6)) node.devices["big"] = draw(1, 2);
    rehearsal.nodes.push_back(node);
  }
  std::vector<std::string> models;
  for (std::int64_t i = draw(2, 8); i > 0; --i) {
    models.push_back("m" + std::to_string(i));
    sweeps::RehearsalRule rule;
    rule.text = models.back();
    rule.when = {{.axis = "model", .patterns = {models.back()}, .from = {}, .to = {}}};
    rule.memory_fixed_bytes = 20.0 * kMiB;
    rule.memory_per_sample_bytes = 5.0 * kMiB;
    rule.step_fixed_s = 0.001 * static_cast<double>(draw(1, 50));
    rule.step_noise = 0.1;
    // As likely without a fault as with one.
    if (chance(0.5))
      rule.fault = static_cast<Fault>(draw(1, static_cast<std::int64_t>(Fault::kKillAgent)));
    rule.fault_exit_code = static_cast<int>(draw(1, 3));
    rule.fault_rank = draw(0, 2);
    rule.fault_step = draw(1, kSteps + 1);
    if (chance(0.4)) rule.fault_attempts = draw(1, 3);
    rehearsal.rules.push_back(rule);
  }
  std::vector<std::string> types = {"small"};
  if (chance(0.7)) types.push_back("big");
  if (chance(0.2)) types.push_back("elsewhere");
  std::vector<std::string> worlds = {"1"}, nodes = {"min"}, placements = {"any"};
  if (chance(0.6)) worlds = {"1", "2", "3"};
  if (chance(0.2)) {
    worlds = {"2", "4"};
    nodes = {"min", "2"};
  } else if (chance(0.3)) {
    placements = {"any", "each-node"};
    if (worlds.size() == 1) placements.emplace_back("each-device");
  }
  spec.grid = {{{{"gpu", types},
                 {"model", models},
                 {"num_nodes", nodes},
                 {"placement", placements},
                 {"world_size", worlds},
                 {"batch_size", {"2", "8", "32"}}}}};
}

sweeps::PinTargets RandomSweep::targets() const {
  sweeps::PinTargets targets;
  for (const protocol::Register& node : simulated_nodes(spec)) {
    for (const protocol::DeviceOffer& offer : node.devices) {
      std::vector<std::string>& hosts = targets.hosts[offer.type];
      if (hosts.empty() || hosts.back() != node.host.hostname) hosts.push_back(node.host.hostname);
      targets.devices[offer.type].push_back(offer.uuid);
    }
  }
  return targets;
}

std::vector<std::string> RandomSweep::present_types() const {
  std::vector<std::string> types;
  for (const sweeps::RehearsalNode& node : spec.rehearsal->nodes) {
    for (const auto& [type, count] : node.devices) types.push_back(type);
  }
  return types;
}

Outcome expected_outcome(const sweeps::SweepSpec& sweep, const sweeps::TrialSpec& trial,
                         std::int64_t attempt) {
  if (!could_hold(sweep, trial)) return Outcome::kSkipped;
  const sweeps::RehearsalRule& rule = *sweeps::matching_rule(*sweep.rehearsal, trial);
  const double needed = rule.memory_fixed_bytes +
                        rule.memory_per_sample_bytes * static_cast<double>(trial.batch_size);
  if (needed > static_cast<double>(limit_of(sweep, trial.gpu))) return Outcome::kOutOfMemory;
  if (rule.fault_step > kSteps || rule.fault_rank >= trial.world_size) return Outcome::kCompleted;
  if (rule.fault_attempts && attempt > *rule.fault_attempts) return Outcome::kCompleted;
  switch (rule.fault) {
    case Fault::kNone:
    case Fault::kGrandchild:
      return Outcome::kCompleted;
    case Fault::kHang:
    case Fault::kStop:
      return Outcome::kTimedOut;
    case Fault::kGarbage:
      return Outcome::kFailed;
    case Fault::kNanLoss:
      return Outcome::kDiverged;
    case Fault::kOom:
      return Outcome::kOutOfMemory;
    case Fault::kHostOom:
      return Outcome::kHostOutOfMemory;
    case Fault::kSegfault:
    case Fault::kKill:
    case Fault::kExit:
    case Fault::kHalfLine:
    case Fault::kBusError:
      return Outcome::kCrashed;
    case Fault::kKillAgent:
      return Outcome::kLost;
  }
  return Outcome::kCompleted;
}

bool kills_agents(const sweeps::SweepSpec& sweep, const sweeps::TrialSpec& trial) {
  return sweeps::matching_rule(*sweep.rehearsal, trial)->fault == Fault::kKillAgent;
}

bool has_agent_killers(const sweeps::SweepSpec& sweep) {
  return std::ranges::count(sweep.rehearsal->rules, Fault::kKillAgent,
                            &sweeps::RehearsalRule::fault) > 0;
}

}  // namespace batchsweep::orchestrator
