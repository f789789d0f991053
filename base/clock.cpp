// SPDX-License-Identifier: Apache-2.0
#include "base/clock.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

namespace batchsweep {
namespace {

class SystemClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const override { return std::chrono::steady_clock::now(); }
  [[nodiscard]] Utc utc_now() const override { return std::chrono::system_clock::now(); }
};

}  // namespace

const Clock& system_clock() {
  static const SystemClock clock;
  return clock;
}

std::string format_utc(Utc time) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
  const std::time_t whole_s = static_cast<std::time_t>(ms / 1000);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(whole_s), ms % 1000);
}

}  // namespace batchsweep
