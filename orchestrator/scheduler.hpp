// SPDX-License-Identifier: Apache-2.0
// What runs where: waiting trials + free devices -> placements, or the reason why a trial waits.
// Deterministic, knows no clock and no messages: time arrives as a number.
//
// The policy, in full:
// 1. A device that becomes free takes the first trial in the order that fits. All trials run once
//    before any is repeated; what crashed or was lost comes after that.
// 2. order = "auto": first a scout of each family of trials whose time nobody knows, the smallest
//    one; then many ranks before few, because they need several devices at once; among those the
//    longest first. A trial longer than what is left for its devices goes before all of these.
// 3. A trial's devices lie on as few hosts as this cluster allows, or on num_nodes; hosts with most
//    free devices are taken, because neighbours disturb a measurement.
// 4. The first trial in the order that needs several devices and cannot start has devices kept for
//    it: those that will be free soonest. Others start there only if they will have ended by the
//    time that the last of them is free. A trial of unknown length counts with its limit, so nobody
//    starves.
// 5. What would not end in time is not started: twice its expected time must be left; where nothing
//    is known its limit before a hard end, and before a soft one (which lets it run on) any time.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "orchestrator/expected_time.hpp"
#include "sweeps/sweep_spec.hpp"

namespace batchsweep::orchestrator {

using SlotId = std::uint32_t;    // one (trial, repeat), orchestrator/trial_table.hpp
using DeviceId = std::uint32_t;  // one offer of one agent, orchestrator/cluster.hpp
using ShapeId = std::uint32_t;   // trials with equal Needs

struct Needs {
  std::string gpu;
  std::int64_t world_size = 1;
  std::optional<std::int64_t>
      num_nodes;  // so many hosts, equally many ranks on each; absent: as few as can be
  bool exclusive_host = false;
  std::string pinned_host, pinned_device;  // a host's name, a device's UUID; "": anywhere
  auto operator<=>(const Needs&) const = default;
};

enum class Urgency : std::uint8_t {
  kScout,  // the smallest of a family whose times nobody knows
  kNormal,
  kAgain,    // crashed or lost before: what has not run yet goes first
  kSuspect,  // open at so many starts that it may be what ends them
};

struct WaitingTrial {
  SlotId slot = 0;
  ShapeId shape = 0;
  std::int64_t repeat = 0;
  Urgency urgency = Urgency::kNormal;
  FamilyId family = 0;
  double work = 0;  // what each rank has to do, in samples
};

struct DeviceView {
  DeviceId id = 0;  // counts from 0 without gaps
  std::string type;
  std::size_t host = 0;
  std::size_t unit = 0;  // the physical device: of its views one is used at a time
  std::string host_name, uuid;
};

struct Placement {
  SlotId slot = 0;
  std::vector<DeviceId> devices;  // in rank order; those of one host lie together
};

struct WaitingReason {
  SlotId slot = 0;
  std::string why;
};

struct SchedulerOptions {
  sweeps::Order order = sweeps::Order::kAuto;
  std::uint64_t seed = 1;   // of "shuffled"
  bool over_hosts = false;  // may the ranks of one trial lie on several hosts?
  double limit_s = 1800;    // the longest that a trial can run
  // On the clock of place(): when everything is killed, and when nothing new starts.
  double hard_end_s = std::numeric_limits<double>::infinity();
  double soft_end_s = std::numeric_limits<double>::infinity();
};

class Scheduler {
 public:
  explicit Scheduler(const SchedulerOptions& options);
  ~Scheduler();

  // Equal needs are one shape.
  ShapeId shape_of(const Needs& needs);
  void add(const WaitingTrial& trial);
  void add_device(const DeviceView& device);
  // A device of a placement comes back; one that was removed meanwhile stays out.
  void release(DeviceId device);
  // Gone or out of service for good, whether free or in use.
  void remove_device(DeviceId device);
  // A trial took so long.
  void learn(FamilyId family, double work, double duration_s);
  [[nodiscard]] std::optional<double> expected_s(FamilyId family, double work) const;

  // The next trial that can start now; its devices are taken. nullopt: nothing can.
  [[nodiscard]] std::optional<Placement> place(double now_s);

  // Could it ever run on the devices that are here?
  [[nodiscard]] bool could_hold(ShapeId shape) const;
  [[nodiscard]] std::size_t waiting() const;  // those included that would not end in time
  [[nodiscard]] std::size_t waiting(ShapeId shape) const;
  // Device seconds that the waiting trials of a type will take; those of unknown families like the
  // mean of all. nullopt: nothing has ended yet.
  [[nodiscard]] std::optional<double> device_seconds_left(const std::string& type) const;
  [[nodiscard]] std::optional<double> mean_s() const;
  // In nobody's use; it may be kept for a trial.
  [[nodiscard]] bool is_free(DeviceId device) const;
  // Why trials of this shape do not start now, as a sentence.
  [[nodiscard]] std::string why(ShapeId shape, double now_s) const;
  // The first so many in the order, each with its reason.
  [[nodiscard]] std::vector<WaitingReason> explain(std::size_t most, double now_s) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace batchsweep::orchestrator
