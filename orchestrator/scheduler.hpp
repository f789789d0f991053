// SPDX-License-Identifier: Apache-2.0
// What runs where: waiting trials + free devices -> placements, or the reason why a trial waits.
// Deterministic, knows no clock and no messages, only numbers for slots and devices. The interface
// is final: a better policy replaces the .cpp.
//
// Policy now: a device that becomes free takes the first waiting trial that fits. Order: all trials
// once before any is repeated; within that as SchedulerOptions::order says. A trial's devices lie
// on as few hosts as this cluster allows; among those the host with most free devices is taken,
// because neighbours disturb a measurement.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sweeps/sweep_spec.hpp"

namespace batchsweep::orchestrator {

using SlotId = std::uint32_t;    // one (trial, repeat), orchestrator/trial_table.hpp
using DeviceId = std::uint32_t;  // one offer of one agent, orchestrator/cluster.hpp
using KindId = std::uint32_t;    // trials with equal Needs

struct Needs {
  std::string gpu;
  std::int64_t world_size = 1;
  bool exclusive_host = false;
  bool operator==(const Needs&) const = default;
};

enum class Urgency : std::uint8_t {
  kNormal,
  kAgain,    // crashed or lost before: what has not run yet goes first
  kSuspect,  // open at so many starts that it may be what ends them
};

struct WaitingTrial {
  SlotId slot = 0;
  KindId kind = 0;
  std::int64_t repeat = 0;
  Urgency urgency = Urgency::kNormal;
};

struct DeviceView {
  DeviceId id = 0;  // counts from 0 without gaps
  std::string type;
  std::size_t host = 0;
  std::size_t unit = 0;  // the physical device: of its views one is used at a time
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
  sweeps::Order order = sweeps::Order::kAuto;  // auto: many ranks first, because they need several
                                               // devices free at once
  std::uint64_t seed = 1;                      // of "shuffled"
  bool over_hosts = false;                     // may the ranks of one trial lie on several hosts?
};

class Scheduler {
 public:
  explicit Scheduler(const SchedulerOptions& options);
  ~Scheduler();

  // Kinds are numbered from 0 in the order of these calls.
  KindId add_kind(const Needs& needs);
  void add(const WaitingTrial& trial);
  void add_device(const DeviceView& device);
  // A device of a placement comes back; one that was removed meanwhile stays out.
  void release(DeviceId device);
  // Gone or out of service for good, whether free or in use.
  void remove_device(DeviceId device);

  // The next trial that can start now; its devices are taken. nullopt: nothing can.
  [[nodiscard]] std::optional<Placement> place();

  // Could it ever run on the devices that are here?
  [[nodiscard]] bool could_hold(KindId kind) const;
  [[nodiscard]] std::size_t waiting() const;
  [[nodiscard]] std::size_t waiting(KindId kind) const;
  [[nodiscard]] bool is_free(DeviceId device) const;
  // The first so many in the order, each with the reason why it does not run yet.
  [[nodiscard]] std::vector<WaitingReason> explain(std::size_t most) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace batchsweep::orchestrator
