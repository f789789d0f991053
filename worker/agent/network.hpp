// SPDX-License-Identifier: Apache-2.0
// Which of this host's addresses the ranks of a trial use towards each other. Knows no process and
// no message but the question.
#pragma once

#include <string>
#include <vector>

#include "worker/protocol/messages.hpp"
#include "worker/protocol/trial_input.hpp"

namespace batchsweep::agent {

struct HostAddress {
  std::string interface, address;
  bool loopback = false;
  bool operator==(const HostAddress&) const = default;
};

// Of the interfaces that are up: IPv4 first, then IPv6; without those that need a scope.
[[nodiscard]] std::vector<HostAddress> host_addresses();
// Those that other hosts may know this one by.
[[nodiscard]] std::vector<std::string> own_addresses();

// Throws IoError where the interface that is asked for is not there.
[[nodiscard]] protocol::TrialNetwork find_network(const protocol::GroupNetwork& wanted);

// The choice, without the system. `source`: the own address that a packet to another would carry;
// "" where there is no way to it.
using SourceTowards = std::string(const std::string& address);
[[nodiscard]] protocol::TrialNetwork choose_network(const protocol::GroupNetwork& wanted,
                                                    const std::vector<HostAddress>& own,
                                                    SourceTowards* source);

}  // namespace batchsweep::agent
