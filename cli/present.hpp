// SPDX-License-Identifier: Apache-2.0
// What is here, as agents register it: the device types, what trials can be pinned to, and how the
// devices lie on hosts. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "orchestrator/scheduler.hpp"
#include "sweeps/grid.hpp"
#include "worker/protocol/messages.hpp"

namespace batchsweep::cli {

struct Present {
  std::vector<std::string> types;  // in the order of their first device
  sweeps::PinTargets targets;
  std::vector<orchestrator::DeviceView> devices;
};

// A device that several agents of a host offer counts once.
[[nodiscard]] Present present_of(const std::vector<protocol::Register>& registrations);

}  // namespace batchsweep::cli
