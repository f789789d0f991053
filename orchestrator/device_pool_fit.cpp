// SPDX-License-Identifier: Apache-2.0
// Where a trial fits in the pool: now, meanwhile, and soonest.
#include <algorithm>
#include <array>
#include <functional>
#include <limits>

#include "base/check.hpp"
#include "orchestrator/device_pool.hpp"

namespace batchsweep::orchestrator {

// Divides the ranks among so many hosts of the offers, which stand most first.
std::optional<DevicePool::Shares> DevicePool::share(const Offers& offers, const Needs& needs,
                                                    std::size_t hosts) {
  if (offers.size() < hosts && needs.num_nodes) return std::nullopt;
  Shares shares;
  std::int64_t left = needs.world_size;
  for (std::size_t i = 0; i < std::min(hosts, offers.size()) && left > 0; ++i) {
    const auto& [count, host] = offers[i];
    // The first hosts take one more where it does not divide.
    const auto hosts_left = static_cast<std::int64_t>(hosts - i);
    const std::int64_t equal = (left + hosts_left - 1) / hosts_left;
    const std::int64_t wanted = needs.num_nodes ? equal : left;
    if (needs.num_nodes && count < equal) return std::nullopt;
    shares.emplace_back(host, std::min(count, wanted));
    left -= shares.back().second;
  }
  return left == 0 ? std::optional(std::move(shares)) : std::nullopt;
}

// The hosts with most devices that are free and nobody's; no more of them than are looked at.
DevicePool::Offers DevicePool::open_offers(const Type& type, const Needs& needs,
                                           std::size_t hosts) const {
  const auto takes = [&](std::size_t host) {
    return !needs.exclusive_host || hosts_.at(host).busy == 0;
  };
  Offers offers;
  if (!needs.pinned_host.empty()) {
    const std::optional<std::size_t> host = host_id(needs.pinned_host);
    if (host && takes(*host))
      offers.emplace_back(static_cast<std::int64_t>(type.hosts.at(*host).open.size()), *host);
    return offers;
  }
  for (const auto& [negative_open, host] : type.by_open) {
    if (!takes(host)) continue;
    offers.emplace_back(-negative_open, host);
    if (offers.size() == hosts) break;
  }
  return offers;
}

std::optional<std::vector<DeviceId>> DevicePool::fit(const Needs& needs) {
  const std::optional<std::size_t> hosts = hosts_needed(needs);
  if (!hosts || (*hosts > 1 && !over_hosts_)) return std::nullopt;
  const Type& type = types_[type_id(needs.gpu)];
  if (type.open < needs.world_size) return std::nullopt;
  if (!needs.pinned_device.empty()) {
    const DeviceId id = type.by_uuid.at(needs.pinned_device);
    const bool alone = !needs.exclusive_host || hosts_.at(views_[id].host).busy == 0;
    if (views_[id].where != Where::kOpen || !alone) return std::nullopt;
    return std::vector<DeviceId>{id};
  }
  const std::optional<Shares> shares = share(open_offers(type, needs, *hosts), needs, *hosts);
  if (!shares) return std::nullopt;
  std::vector<DeviceId> devices;
  for (const auto& [host, count] : *shares) {
    const std::vector<DeviceId>& open = type.hosts.at(host).open;
    devices.insert(devices.end(), open.begin(), open.begin() + count);
  }
  return devices;
}

std::optional<std::vector<DeviceId>> DevicePool::fit_meanwhile(const Needs& needs,
                                                               double ends_s) const {
  if (needs.exclusive_host || needs.num_nodes.value_or(1) > 1) return std::nullopt;
  const Type& type = types_[type_ids_.at(needs.gpu)];
  for (const std::size_t host : type.with_kept) {
    if (!needs.pinned_host.empty() && hosts_.at(host).name != needs.pinned_host) continue;
    const OnHost& there = type.hosts.at(host);
    std::vector<DeviceId> devices = there.open;
    std::ranges::copy_if(there.kept, std::back_inserter(devices), [&](DeviceId id) {
      return *units_.at(views_[id].unit).kept_until_s >= ends_s;
    });
    if (!needs.pinned_device.empty()) {
      const auto wanted = type.by_uuid.find(needs.pinned_device);
      std::erase_if(devices, [&](DeviceId id) {
        return wanted == type.by_uuid.end() || id != wanted->second;
      });
    }
    if (std::cmp_less(devices.size(), needs.world_size)) continue;
    devices.resize(static_cast<std::size_t>(needs.world_size));
    std::ranges::sort(devices);
    return devices;
  }
  return std::nullopt;
}

double DevicePool::unit_free_s(const Unit& unit, double now_s) const {
  if (unit.kept_until_s) return std::numeric_limits<double>::infinity();  // another's
  return unit.busy ? std::max(unit.until_s, now_s) : now_s;
}

double DevicePool::ready_s(const std::vector<DeviceId>& devices, double now_s) const {
  double ready = now_s;
  for (const DeviceId id : devices) {
    const Unit& unit = units_.at(views_[id].unit);
    if (unit.busy) ready = std::max(ready, unit.until_s);
  }
  return ready;
}

// By host: when each device of the type can be had, soonest first.
std::map<std::size_t, std::vector<std::pair<double, DeviceId>>> DevicePool::free_times(
    const Type& type, const Needs& needs, double now_s) const {
  std::map<std::size_t, std::vector<std::pair<double, DeviceId>>> times;
  const std::optional<std::size_t> only =
      needs.pinned_host.empty() ? std::nullopt : host_id(needs.pinned_host);
  for (const auto& [id, there] : type.hosts) {
    if (only && id != *only) continue;
    const Host& host = hosts_.at(id);
    double host_idle_s = now_s;
    for (const DeviceId view : host.views)
      host_idle_s = std::max(host_idle_s, unit_free_s(units_.at(views_[view].unit), now_s));
    const bool whole = needs.exclusive_host || host.exclusive;
    std::vector<std::pair<double, DeviceId>>& list = times[id];
    for (const DeviceId view : host.views) {
      const bool other =
          !needs.pinned_device.empty() && type.by_uuid.at(needs.pinned_device) != view;
      if (views_[view].gone || other || &types_[views_[view].type] != &type) continue;
      list.emplace_back(whole ? host_idle_s : unit_free_s(units_.at(views_[view].unit), now_s),
                        view);
    }
    std::ranges::sort(list);
  }
  return times;
}

std::optional<DevicePool::Keep> DevicePool::soonest(const Needs& needs, double now_s) {
  const std::optional<std::size_t> hosts = hosts_needed(needs);
  if (!hosts || (*hosts > 1 && !over_hosts_)) return std::nullopt;
  const auto times = free_times(types_[type_id(needs.gpu)], needs, now_s);
  std::vector<double> moments;
  for (const auto& [host, list] : times) {
    for (const auto& [time, device] : list) moments.push_back(time);
  }
  std::ranges::sort(moments);
  // Of hosts with as many, those come first where most are free before.
  const auto shares_at = [&](double moment) {
    std::vector<std::array<std::int64_t, 3>> sorted;
    for (const auto& [host, list] : times) {
      const auto [first, end] =
          std::ranges::equal_range(list, moment, {}, [](const auto& entry) { return entry.first; });
      if (end != list.begin())
        sorted.push_back(
            {list.begin() - end, list.begin() - first, static_cast<std::int64_t>(host)});
    }
    std::ranges::sort(sorted);
    Offers offers;
    for (const auto& [minus_count, minus_before, host] : sorted)
      offers.emplace_back(-minus_count, static_cast<std::size_t>(host));
    return share(offers, needs, *hosts);
  };
  const auto first = std::ranges::partition_point(
      moments, [&](double moment) { return !shares_at(moment).has_value(); });
  if (first == moments.end() || *first == std::numeric_limits<double>::infinity())
    return std::nullopt;
  Keep keep{.devices = {}, .ready_s = *first};
  const std::optional<Shares> shares = shares_at(*first);
  BATCHSWEEP_ASSERT(shares.has_value());
  for (const auto& [host, count] : *shares) {
    const auto& list = times.at(host);
    for (std::int64_t i = 0; i < count; ++i)
      keep.devices.push_back(list[static_cast<std::size_t>(i)].second);
    if (!needs.exclusive_host) continue;
    keep.devices.resize(keep.devices.size() - static_cast<std::size_t>(count));
    for (const DeviceId view : hosts_.at(host).views) {
      if (!views_[view].gone) keep.devices.push_back(view);
    }
  }
  return keep;
}

}  // namespace batchsweep::orchestrator
