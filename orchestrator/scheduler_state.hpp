// SPDX-License-Identifier: Apache-2.0
// The insides of Scheduler, for its own files only: scheduler.cpp (what starts), scheduler_why.cpp
// (why not).
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "orchestrator/device_pool.hpp"
#include "orchestrator/scheduler.hpp"
#include "orchestrator/trial_order.hpp"

namespace batchsweep::orchestrator {

struct Scheduler::State {
  explicit State(const SchedulerOptions& given)
      : options(given), pool(given.over_hosts), order(given) {}

  struct Shape {
    Needs needs;
    TypeId type = 0;
    // Where one device is not enough, a free one may never be: something has to be kept.
    [[nodiscard]] bool needs_several() const {
      return needs.world_size > 1 || needs.exclusive_host;
    }
  };
  struct Kept {
    ShapeId shape = 0;
    DevicePool::Keep keep;
  };
  struct Candidate {
    ShapeId shape = 0;
    TrialOrder::Next next;
  };

  const SchedulerOptions options;
  DevicePool pool;
  TrialOrder order;
  std::vector<Shape> shapes;
  std::map<Needs, ShapeId> shape_ids;
  std::vector<std::vector<ShapeId>> of_type;
  std::vector<std::optional<Kept>> kept;  // by type
  std::size_t waiting = 0;

  std::optional<Placement> place_on(TypeId type, double now_s);
  std::vector<Candidate> candidates(TypeId type, double now_s);
  std::optional<std::vector<DeviceId>> fit(Candidate& candidate, double now_s);
  void keep_for(ShapeId shape, double now_s);
  void forget_kept(TypeId type);
  [[nodiscard]] double at_most_s(const Candidate& candidate) const {
    return std::min(options.limit_s, candidate.next.expected_s.value_or(options.limit_s));
  }
  [[nodiscard]] std::string why(ShapeId shape, double now_s);
  [[nodiscard]] std::string why_kept(const Kept& kept, double now_s) const;
  [[nodiscard]] std::string why_pinned(const Shape& shape);
  [[nodiscard]] std::string why_too_late(const TrialOrder::Next& next, double now_s) const;
};

}  // namespace batchsweep::orchestrator
