// SPDX-License-Identifier: Apache-2.0
// What runs where: pure. Waiting trials + free devices -> placements, or the reason why the next one waits. The interface is final; a
// better policy replaces the .cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "worker/protocol/messages.hpp"

namespace batchsweep::orchestrator {

struct WaitingTrial {
  std::size_t slot = 0;  // index in the trial table
  std::string gpu;
  std::int64_t world_size = 1;
  bool exclusive_host = false;
  double expected_s = 0;  // 0: unknown
};
struct FreeDevice {
  protocol::PeerId agent = 0;
  int device = 0;
  std::string type, host, uuid;
};
struct PlacedDevice {
  protocol::PeerId agent = 0;
  int device = 0;
};
struct Placement {
  std::size_t slot = 0;
  std::vector<PlacedDevice> devices;  // in rank order
};

}  // namespace batchsweep::orchestrator
