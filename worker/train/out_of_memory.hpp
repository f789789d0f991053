// SPDX-License-Identifier: Apache-2.0
// What an allocator knew when it refused: the typed evidence of an out-of-memory trial.
#pragma once

#include <cstdint>
#include <optional>

namespace batchsweep::train {

struct OutOfMemory {
  std::int64_t requested_bytes = 0;
  std::int64_t allocated_bytes = 0, reserved_bytes = 0;  // at that moment, the request not counted
  std::optional<std::int64_t> limit_bytes;               // absent: no limit was set
  bool by_host = false;  // below the limit: the host itself has no memory left
};

}  // namespace batchsweep::train
