// SPDX-License-Identifier: Apache-2.0
// In which order waiting trials start (scheduler.hpp, points 1, 2 and 5). The trials of one shape
// and family wait in one queue, sorted once; what is learnt about times moves whole queues, never
// single trials, so a decision costs the same however many wait. Knows no devices.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "orchestrator/expected_time.hpp"
#include "orchestrator/scheduler.hpp"
#include "orchestrator/waiting_queue.hpp"

namespace batchsweep::orchestrator {

// What is smaller starts first.
struct OrderKey {
  std::uint32_t level = 0;     // urgency, repeat
  bool can_wait = true;        // false: longer than what is left for the devices of its type
  std::int64_t few_ranks = 0;  // auto: minus the ranks
  double measure = 0;          // auto: minus the expected time; of a scout the work
  std::uint32_t position = 0;
  auto operator<=>(const OrderKey&) const = default;
};

class TrialOrder {
 public:
  struct Next {
    OrderKey key;
    SlotId slot = 0;
    std::optional<double> expected_s;
    bool too_late = false;
    std::size_t queue = 0;             // where it waits
    std::optional<std::size_t> place;  // there; absent: first
  };

  explicit TrialOrder(const SchedulerOptions& options) : options_(options) {}

  ShapeId add_shape(std::size_t type, std::int64_t ranks);
  void add(const WaitingTrial& trial);
  void learn(FamilyId family, double work, double duration_s);
  [[nodiscard]] const ExpectedTime& times() const { return times_; }

  // The first of a shape; what would not end in time is put aside. nullopt: nothing is left.
  [[nodiscard]] std::optional<Next> front(ShapeId shape, double now_s);
  // One that will have ended within this time, the first in the order as far as is looked.
  [[nodiscard]] std::optional<Next> within(ShapeId shape, double most_s, double now_s);
  // Takes the one that front() or within() told.
  void take(ShapeId shape, const Next& next);

  [[nodiscard]] std::size_t waiting(ShapeId shape) const;
  // What waits for a type.
  struct Left {
    double seconds = 0;        // of devices, as expected
    std::int64_t unknown = 0;  // ranks of trials of which nothing is expected
  };
  [[nodiscard]] Left left(std::size_t type);
  // The first so many of a shape; those put aside come last.
  [[nodiscard]] std::vector<Next> first(ShapeId shape, std::size_t most) const;

 private:
  struct Queue {
    FamilyId family = 0;
    WaitingQueue trials;
    bool stale = false;           // key and share are not up to date
    std::optional<OrderKey> key;  // as it stands in `heads`
    Left share;                   // as it counts in `left_`
  };
  struct Shape {
    std::size_t type = 0;
    std::int64_t ranks = 1;
    std::vector<Queue> queues;
    std::unordered_map<FamilyId, std::size_t> of_family;
    std::set<std::pair<OrderKey, std::size_t>> heads;  // of the queues that hold any
    std::vector<std::size_t> stale;
    std::vector<WaitingTrial> aside;
  };
  void mark_stale(Shape& shape, std::size_t queue);
  void refresh(Shape& shape);
  void count(const Shape& shape, Queue& queue);
  [[nodiscard]] OrderKey key_of(const Shape& shape, FamilyId family,
                                const QueuedTrial& trial) const;
  [[nodiscard]] bool too_late(FamilyId family, double work, double now_s) const;
  [[nodiscard]] Next next_of(const Shape& shape, FamilyId family, const QueuedTrial& trial) const;
  [[nodiscard]] QueuedTrial queued(const WaitingTrial& trial) const;

  SchedulerOptions options_;
  ExpectedTime times_;
  std::vector<Shape> shapes_;
  std::vector<std::vector<std::pair<ShapeId, std::size_t>>> of_family_;  // queues of a family
  std::vector<Left> left_;                                               // by type
  std::vector<std::vector<ShapeId>> shapes_of_;                          // by type
};

}  // namespace batchsweep::orchestrator
