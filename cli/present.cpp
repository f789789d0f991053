// SPDX-License-Identifier: Apache-2.0
#include "cli/present.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace batchsweep::cli {

Present present_of(const std::vector<protocol::Register>& registrations) {
  Present present;
  std::map<std::string, std::size_t> hosts;
  std::map<std::pair<std::string, std::string>, std::size_t> units;  // host, UUID
  std::set<std::pair<std::size_t, std::string>> known;               // unit, type
  for (const protocol::Register& registration : registrations) {
    const std::string& host = registration.host.hostname;
    const std::size_t host_id = hosts.try_emplace(host, hosts.size()).first->second;
    for (const protocol::DeviceOffer& offer : registration.devices) {
      const std::size_t unit = units.try_emplace({host, offer.uuid}, units.size()).first->second;
      if (!known.emplace(unit, offer.type).second) continue;
      if (std::ranges::find(present.types, offer.type) == present.types.end())
        present.types.push_back(offer.type);
      std::vector<std::string>& names = present.targets.hosts[offer.type];
      if (std::ranges::find(names, host) == names.end()) names.push_back(host);
      present.targets.devices[offer.type].push_back(offer.uuid);
      present.devices.push_back({.id = static_cast<orchestrator::DeviceId>(present.devices.size()),
                                 .type = offer.type,
                                 .host = host_id,
                                 .unit = unit,
                                 .host_name = host,
                                 .uuid = offer.uuid});
    }
  }
  return present;
}

}  // namespace batchsweep::cli
