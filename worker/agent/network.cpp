// SPDX-License-Identifier: Apache-2.0
#include "worker/agent/network.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <set>

#include "base/error.hpp"
#include "base/unique_handle.hpp"

namespace batchsweep::agent {
namespace {

// Nothing lives there (RFC 5737): what a packet to it would carry is the default route's address.
constexpr const char* kAnywhere = "192.0.2.1";

std::string numeric(const sockaddr* address, socklen_t size) {
  char text[NI_MAXHOST];
  if (getnameinfo(address, size, text, sizeof text, nullptr, 0, NI_NUMERICHOST) != 0) return "";
  return text;
}

// Connecting a datagram socket sends nothing; it only asks the kernel for the route.
std::string source_towards(const std::string& address) {
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST;
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(address.c_str(), "9", &hints, &found) != 0) return "";
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> target(found, freeaddrinfo);
  const UniqueFd probe(socket(target->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!probe || connect(probe.get(), target->ai_addr, target->ai_addrlen) != 0) return "";
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  if (getsockname(probe.get(), reinterpret_cast<sockaddr*>(&own), &size) != 0) return "";
  return numeric(reinterpret_cast<const sockaddr*>(&own), size);
}

protocol::TrialNetwork network(const HostAddress& own) {
  return {.address = own.address, .interface = own.interface};
}

protocol::TrialNetwork loopback(const std::vector<HostAddress>& own) {
  const auto found = std::ranges::find_if(own, &HostAddress::loopback);
  if (found == own.end())
    throw IoError("this host has no loopback interface: its ranks cannot reach each other");
  return network(*found);
}

protocol::TrialNetwork named(const std::string& interface, const std::vector<HostAddress>& own) {
  const auto found = std::ranges::find(own, interface, &HostAddress::interface);
  if (found != own.end()) return network(*found);
  std::set<std::string> known;
  for (const HostAddress& address : own) known.insert(address.interface);
  throw IoError(fmt::format(
      "[cluster] interface: this host has no \"{}\" that is up and has an address (it has {})",
      interface, fmt::join(known, ", ")));
}

}  // namespace

std::vector<HostAddress> host_addresses() {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) throw_errno("cannot list the network interfaces", errno);
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(list, freeifaddrs);
  std::vector<HostAddress> addresses;
  for (const int family : {AF_INET, AF_INET6}) {
    const socklen_t size = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
      if (entry->ifa_addr == nullptr || entry->ifa_addr->sa_family != family ||
          (entry->ifa_flags & IFF_UP) == 0)
        continue;
      const std::string address = numeric(entry->ifa_addr, size);
      if (address.empty() || address.find('%') != std::string::npos) continue;
      addresses.push_back({.interface = entry->ifa_name,
                           .address = address,
                           .loopback = (entry->ifa_flags & IFF_LOOPBACK) != 0});
    }
  }
  return addresses;
}

std::vector<std::string> own_addresses() {
  std::vector<std::string> addresses;
  for (const HostAddress& own : host_addresses()) {
    if (!own.loopback) addresses.push_back(own.address);
  }
  return addresses;
}

protocol::TrialNetwork choose_network(const protocol::GroupNetwork& wanted,
                                      const std::vector<HostAddress>& own, SourceTowards* source) {
  if (!wanted.over_hosts) return loopback(own);
  if (!wanted.interface.empty()) return named(wanted.interface, own);
  std::vector<std::string> targets;
  for (const std::string& address : wanted.towards) {
    // One that this host has as well (a bridge of containers) says nothing of a way to another
    // host.
    if (std::ranges::find(own, address, &HostAddress::address) == own.end())
      targets.push_back(address);
  }
  targets.emplace_back(kAnywhere);
  for (const std::string& target : targets) {
    const auto found = std::ranges::find(own, source(target), &HostAddress::address);
    if (found != own.end() && !found->loopback) return network(*found);
  }
  const auto any = std::ranges::find(own, false, &HostAddress::loopback);
  return any != own.end() ? network(*any) : loopback(own);
}

protocol::TrialNetwork find_network(const protocol::GroupNetwork& wanted) {
  return choose_network(wanted, host_addresses(), source_towards);
}

}  // namespace batchsweep::agent
