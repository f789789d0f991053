// SPDX-License-Identifier: Apache-2.0
// A scheduler on a stage: devices, trials and time by hand.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <initializer_list>
#include <map>
#include <string>
#include <vector>

#include "orchestrator/scheduler.hpp"

namespace batchsweep::orchestrator {

// Slots and devices are numbers; a placement reads "slot: device device".
class Stage {
 public:
  explicit Stage(SchedulerOptions options = {}) : scheduler(options) {}

  // So many devices of a type on a host; units are their own.
  void host(std::size_t host, const std::string& type, int count) {
    for (int i = 0; i < count; ++i, ++devices)
      scheduler.add_device({.id = devices,
                            .type = type,
                            .host = host,
                            .unit = devices,
                            .host_name = fmt::format("n{}", host),
                            .uuid = fmt::format("u{}", devices)});
  }
  ShapeId kind(std::int64_t world_size, const std::string& type = "small", bool exclusive = false) {
    return scheduler.shape_of({.gpu = type, .world_size = world_size, .exclusive_host = exclusive});
  }
  void wait(ShapeId shape, std::initializer_list<SlotId> slots,
            Urgency urgency = Urgency::kNormal) {
    for (const SlotId slot : slots)
      scheduler.add({.slot = slot, .shape = shape, .repeat = 0, .urgency = urgency});
  }
  // A trial of a family; its work is in seconds, once learn() was called.
  void wait_for(ShapeId shape, SlotId slot, double work, FamilyId family = 0) {
    scheduler.add({.slot = slot, .shape = shape, .family = family, .work = work});
  }
  // From now on a trial of the family is expected to take as many seconds as its work says.
  void learn(FamilyId family = 0) {
    scheduler.learn(family, 1, 1);
    scheduler.learn(family, 100, 100);
  }
  void release(std::initializer_list<DeviceId> ids) {
    for (const DeviceId id : ids) scheduler.release(id);
  }
  std::vector<std::string> place() {
    std::vector<std::string> lines;
    while (const auto placement = scheduler.place(now_s)) {
      lines.push_back(fmt::format("{}: {}", placement->slot, fmt::join(placement->devices, " ")));
    }
    return lines;
  }
  // One after the other, each ending at once.
  std::vector<std::string> run_one() {
    std::vector<std::string> lines;
    if (const auto placement = scheduler.place(now_s)) {
      lines.push_back(fmt::format("{}: {}", placement->slot, fmt::join(placement->devices, " ")));
      for (const DeviceId device : placement->devices) scheduler.release(device);
    }
    return lines;
  }
  std::vector<std::string> run_all() {
    std::vector<std::string> lines;
    for (auto next = run_one(); !next.empty(); next = run_one()) lines.push_back(next.front());
    return lines;
  }
  struct Played {
    double device_seconds = 0, makespan_s = 0;
  };
  // Until nothing waits and nothing runs; a trial takes as long as `duration_s` says.
  Played simulate(const std::function<double(SlotId)>& duration_s) {
    Played played;
    std::multimap<double, std::vector<DeviceId>> ends;
    for (;;) {
      while (const auto placement = scheduler.place(now_s)) {
        const double duration = duration_s(placement->slot);
        played.device_seconds += duration * static_cast<double>(placement->devices.size());
        ends.emplace(now_s + duration, placement->devices);
      }
      if (ends.empty()) break;
      now_s = ends.begin()->first;
      for (const DeviceId device : ends.begin()->second) scheduler.release(device);
      ends.erase(ends.begin());
    }
    played.makespan_s = now_s;
    return played;
  }
  std::vector<std::string> explain(std::size_t most = 10) {
    std::vector<std::string> lines;
    for (const WaitingReason& reason : scheduler.explain(most, now_s))
      lines.push_back(fmt::format("{}: {}", reason.slot, reason.why));
    return lines;
  }

  Scheduler scheduler;
  DeviceId devices = 0;
  double now_s = 0;
};

}  // namespace batchsweep::orchestrator
