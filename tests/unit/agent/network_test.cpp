// SPDX-License-Identifier: Apache-2.0
#include "worker/agent/network.hpp"

#include <gmock/gmock.h>

#include "base/error.hpp"

namespace batchsweep::agent {
namespace {

using protocol::GroupNetwork;

const std::vector<HostAddress> kNode = {{"lo", "127.0.0.1", true},
                                        {"docker0", "172.17.0.1"},
                                        {"eth0", "10.0.0.2"},
                                        {"ib0", "192.168.7.2"},
                                        {"eth0", "fd00::2"}};

// The kernel of that node: its own addresses are reached through themselves.
std::string routes(const std::string& target) {
  if (target == "172.17.0.1") return target;
  if (target.starts_with("192.168.7.")) return "192.168.7.2";
  if (target == "198.51.100.1") return "";  // no way there
  return "10.0.0.2";
}
std::string no_route(const std::string&) { return ""; }

TEST(Network, RanksReachEachOtherOverTheInterfaceThatTheirHostsShare) {
  struct Line {
    GroupNetwork wanted;
    const char* address;
    const char* interface;
  };
  const Line lines[] = {
      {{.over_hosts = false}, "127.0.0.1", "lo"},
      {{.over_hosts = false, .interface = "ib0"}, "127.0.0.1", "lo"},
      {{.over_hosts = true, .interface = "ib0"}, "192.168.7.2", "ib0"},
      // the way to the orchestrator's host, which has a bridge like ours and is on both networks
      {{.over_hosts = true, .towards = {"172.17.0.1", "192.168.7.1", "10.0.0.1"}},
       "192.168.7.2",
       "ib0"},
      {{.over_hosts = true, .towards = {"198.51.100.1", "10.0.0.1"}}, "10.0.0.2", "eth0"},
      // the orchestrator's own host: the default route
      {{.over_hosts = true, .towards = {"172.17.0.1", "10.0.0.2", "192.168.7.2"}},
       "10.0.0.2",
       "eth0"},
      {{.over_hosts = true}, "10.0.0.2", "eth0"},
  };
  for (const Line& line : lines) {
    const protocol::TrialNetwork chosen = choose_network(line.wanted, kNode, routes);
    EXPECT_EQ(chosen.address, line.address);
    EXPECT_EQ(chosen.interface, line.interface);
  }
}

TEST(Network, WithoutAnyRouteTheFirstAddressServesAndWithoutAnyTheLoopback) {
  const GroupNetwork over_hosts{.over_hosts = true, .towards = {"10.0.0.1"}};
  EXPECT_EQ(choose_network(over_hosts, kNode, no_route).address, "172.17.0.1");
  EXPECT_EQ(choose_network(over_hosts, {kNode.front()}, no_route).address, "127.0.0.1");
}

TEST(Network, SaysWhichInterfacesThereAreWhereTheNamedOneIsNot) {
  try {
    (void)choose_network({.over_hosts = true, .interface = "ib1"}, kNode, routes);
    ADD_FAILURE();
  } catch (const IoError& error) {
    EXPECT_STREQ(error.what(),
                 "[cluster] interface: this host has no \"ib1\" that is up and has an address (it "
                 "has docker0, eth0, ib0, lo)");
  }
}

TEST(Network, FindsThisHostsLoopback) {
  EXPECT_EQ(find_network({}).address, "127.0.0.1");
  for (const std::string& address : own_addresses()) EXPECT_NE(address, "127.0.0.1");
}

}  // namespace
}  // namespace batchsweep::agent
