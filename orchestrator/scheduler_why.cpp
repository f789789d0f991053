// SPDX-License-Identifier: Apache-2.0
// Why a trial does not start now, in words.
#include <fmt/format.h>

#include <algorithm>

#include "base/units.hpp"
#include "orchestrator/scheduler_state.hpp"

namespace batchsweep::orchestrator {
namespace {

std::string in_words(const Needs& needs) {
  return fmt::format("{} x {}", needs.world_size, needs.gpu);
}

}  // namespace

std::string Scheduler::State::why_kept(const Kept& own, double now_s) const {
  const std::size_t free = pool.how_many_free(own.keep.devices);
  const double left_s = pool.ready_s(own.keep.devices, now_s) - now_s;
  const std::string when = left_s > 0 ? fmt::format("in {} at the latest", format_seconds(left_s))
                                      : std::string("any moment");
  return fmt::format("{} of {} devices kept for it on {} are free, the last is expected {}", free,
                     own.keep.devices.size(), pool.hosts_of(own.keep.devices), when);
}

std::string Scheduler::State::why_pinned(const Shape& shape) {
  const Needs& needs = shape.needs;
  const bool possible = pool.could_hold(needs);
  if (!needs.pinned_device.empty())
    return fmt::format("is pinned to the {} {}, which is {}", needs.gpu, needs.pinned_device,
                       possible ? "in use" : "not here");
  return fmt::format("is pinned to {}: needs {}, {} of {} are free there", needs.pinned_host,
                     in_words(needs), pool.free_on(shape.type, needs.pinned_host),
                     pool.capacity_on(shape.type, needs.pinned_host));
}

std::string Scheduler::State::why(ShapeId id, double now_s) {
  const Shape& shape = shapes[id];
  const Needs& needs = shape.needs;
  const std::string what = in_words(needs);
  const auto& reserved = shape.type < kept.size() ? kept[shape.type] : std::optional<Kept>();
  if (reserved && reserved->shape == id) return why_kept(*reserved, now_s);
  if (!needs.pinned_host.empty() || !needs.pinned_device.empty()) return why_pinned(shape);
  const std::optional<std::size_t> hosts = pool.hosts_needed(needs);
  if (!hosts && needs.num_nodes)
    return fmt::format("needs {} on {} hosts, but there are not so many", what, *needs.num_nodes);
  if (!hosts) return fmt::format("needs {}, but there are not so many", what);
  if (*hosts > 1 && !options.over_hosts)
    return needs.num_nodes ? fmt::format("needs {} hosts", *hosts)
                           : fmt::format("no host has {}", what);
  if (pool.free(shape.type) == 0)
    return fmt::format("all devices of type {} are in use", needs.gpu);
  const std::int64_t open = pool.free(shape.type) - pool.kept(shape.type);
  if (reserved && open < needs.world_size)
    return fmt::format(
        "needs {}: {} are free, and {} more are kept on {} for a trial that needs {}", what, open,
        pool.kept(shape.type), pool.hosts_of(reserved->keep.devices),
        in_words(shapes[reserved->shape].needs));
  if (needs.exclusive_host)
    return fmt::format("waits for a host with {} that nothing else runs on", what);
  if (*hosts > 1) return fmt::format("needs {} on {} hosts, {} are free", what, *hosts, open);
  const std::int64_t together = pool.most_open_together(shape.type);
  if (together >= needs.world_size) return "others stand before it";
  return fmt::format("needs {} on one host, at most {} are free together", what, together);
}

std::string Scheduler::State::why_too_late(const TrialOrder::Next& next, double now_s) const {
  const double left_s = std::min(options.hard_end_s, options.soft_end_s) - now_s;
  const std::string left = format_seconds(std::max(0.0, left_s));
  if (next.expected_s)
    return fmt::format(
        "would not surely end in time: expected {}, and {} are left; twice the "
        "expected time must be",
        format_seconds(*next.expected_s), left);
  return fmt::format(
      "would not surely end in time: nothing like it has run yet, its limit is {}, "
      "and {} are left",
      format_seconds(options.limit_s), left);
}

std::string Scheduler::why(ShapeId shape, double now_s) const { return state_->why(shape, now_s); }

std::vector<WaitingReason> Scheduler::explain(std::size_t most, double now_s) const {
  struct Entry {
    TrialOrder::Next next;
    ShapeId shape = 0;
  };
  std::vector<Entry> first;
  for (ShapeId id = 0; id < state_->shapes.size(); ++id) {
    for (const TrialOrder::Next& next : state_->order.first(id, most)) first.push_back({next, id});
  }
  std::ranges::sort(
      first, {}, [](const Entry& entry) { return std::pair(entry.next.too_late, entry.next.key); });
  first.resize(std::min(first.size(), most));
  std::vector<WaitingReason> reasons;
  reasons.reserve(first.size());
  for (const Entry& entry : first) {
    reasons.push_back({entry.next.slot, entry.next.too_late
                                            ? state_->why_too_late(entry.next, now_s)
                                            : state_->why(entry.shape, now_s)});
  }
  return reasons;
}

}  // namespace batchsweep::orchestrator
