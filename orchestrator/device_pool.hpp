// SPDX-License-Identifier: Apache-2.0
// Devices by type and host: which are free, in use or kept for somebody, and where so many of them
// lie together (scheduler.hpp, points 3 and 4). Knows no trials and no order among them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "orchestrator/scheduler.hpp"

namespace batchsweep::orchestrator {

using TypeId = std::size_t;

class DevicePool {
 public:
  explicit DevicePool(bool over_hosts) : over_hosts_(over_hosts) {}

  TypeId type_id(const std::string& name);
  [[nodiscard]] const std::string& type_name(TypeId type) const { return types_[type].name; }
  void add(const DeviceView& device);
  void remove(DeviceId device);
  // In use, as expected until then.
  void take(const std::vector<DeviceId>& devices, bool exclusive_host, double until_s);
  void release(DeviceId device);

  // Devices kept for one trial; all of them are free at that time, as expected.
  struct Keep {
    std::vector<DeviceId> devices;
    double ready_s = 0;
  };
  // Those that will be free soonest; nullopt: it will never be possible.
  [[nodiscard]] std::optional<Keep> soonest(const Needs& needs, double now_s);
  // When these are free.
  [[nodiscard]] double ready_s(const std::vector<DeviceId>& devices, double now_s) const;
  void keep(const Keep& keep);
  void unkeep(const Keep& keep);

  // Free devices that nobody keeps.
  [[nodiscard]] std::optional<std::vector<DeviceId>> fit(const Needs& needs);
  // On one host, kept ones too where they are ready no sooner than at that time.
  [[nodiscard]] std::optional<std::vector<DeviceId>> fit_meanwhile(const Needs& needs,
                                                                   double ends_s) const;

  // The fewest hosts whose devices, all idle, hold such a trial; nullopt: all of them do not.
  [[nodiscard]] std::optional<std::size_t> hosts_needed(const Needs& needs);
  [[nodiscard]] bool could_hold(const Needs& needs);
  [[nodiscard]] bool is_free(DeviceId device) const { return views_[device].where != Where::kOut; }
  [[nodiscard]] std::int64_t capacity(TypeId type) const { return types_[type].capacity; }
  [[nodiscard]] std::int64_t free(TypeId type) const {
    return types_[type].open + types_[type].kept;
  }
  [[nodiscard]] std::int64_t kept(TypeId type) const { return types_[type].kept; }
  // Most devices of the type that are free, and nobody's, on one host.
  [[nodiscard]] std::int64_t most_open_together(TypeId type) const;
  [[nodiscard]] std::int64_t free_on(TypeId type, const std::string& host) const;
  [[nodiscard]] std::int64_t capacity_on(TypeId type, const std::string& host) const;
  [[nodiscard]] std::string hosts_of(const std::vector<DeviceId>& devices) const;
  [[nodiscard]] std::size_t how_many_free(const std::vector<DeviceId>& devices) const;

  // Types for which something may have become possible since it was last asked.
  std::set<TypeId> changed;

 private:
  enum class Where : std::uint8_t { kOut, kOpen, kKept };
  struct View {
    TypeId type = 0;
    std::size_t host = 0, unit = 0;
    bool gone = false;
    Where where = Where::kOut;
  };
  struct Unit {
    std::vector<DeviceId> views;
    bool busy = false;
    double until_s = 0;                  // of a busy one
    std::optional<double> kept_until_s;  // free for others until then
  };
  struct Host {
    std::string name;
    std::vector<DeviceId> views;
    int busy = 0;  // units in use
    bool exclusive = false;
  };
  struct OnHost {
    std::vector<DeviceId> open, kept;  // in ascending order
    std::int64_t capacity = 0;         // free or not
  };
  struct Type {
    std::string name;
    std::map<std::size_t, OnHost> hosts;
    std::unordered_map<std::string, DeviceId> by_uuid;
    // (-open, host): most first; hosts with none are left out
    std::set<std::pair<std::int64_t, std::size_t>> by_open;
    std::set<std::size_t> with_kept;  // hosts
    std::vector<std::int64_t>
        reach;  // [i]: devices of the i + 1 best hosts; empty: to be counted anew
    std::int64_t capacity = 0, open = 0, kept = 0;
  };
  // A host and how many devices there; most first.
  using Offers = std::vector<std::pair<std::int64_t, std::size_t>>;
  // A host and the devices of it that a trial gets.
  using Shares = std::vector<std::pair<std::size_t, std::int64_t>>;

  [[nodiscard]] Where where_now(const View& view) const;
  void refresh(DeviceId id);
  void put(DeviceId id, Where from, Where to);
  void release_unit(Unit& unit);
  [[nodiscard]] static std::optional<Shares> share(const Offers& offers, const Needs& needs,
                                                   std::size_t hosts);
  [[nodiscard]] Type* type_of(const Needs& needs);
  [[nodiscard]] std::optional<std::size_t> host_id(const std::string& name) const;
  [[nodiscard]] Offers open_offers(const Type& type, const Needs& needs, std::size_t hosts) const;
  [[nodiscard]] std::map<std::size_t, std::vector<std::pair<double, DeviceId>>> free_times(
      const Type& type, const Needs& needs, double now_s) const;
  [[nodiscard]] double unit_free_s(const Unit& unit, double now_s) const;

  bool over_hosts_;
  std::vector<Type> types_;
  std::unordered_map<std::string, TypeId> type_ids_;
  std::vector<View> views_;
  std::unordered_map<std::size_t, Unit> units_;
  std::unordered_map<std::size_t, Host> hosts_;
  std::unordered_map<std::string, std::size_t> host_ids_;
};

}  // namespace batchsweep::orchestrator
