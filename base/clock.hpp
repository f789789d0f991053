// SPDX-License-Identifier: Apache-2.0
// Time enters by these types only. Durations come from the monotonic clock; UTC is for the reader of a record.
// The orchestrator's core and the agent never read a clock: Instants arrive as arguments.
#pragma once

#include <chrono>
#include <string>

namespace batchsweep {

using Duration = std::chrono::nanoseconds;
// Monotonic; its zero has no meaning (0 in simulations).
using Instant = std::chrono::time_point<std::chrono::steady_clock, Duration>;
using Utc = std::chrono::time_point<std::chrono::system_clock, Duration>;

[[nodiscard]] inline Duration seconds(double s) {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(s));
}
[[nodiscard]] inline double to_seconds(Duration d) { return std::chrono::duration<double>(d).count(); }

// The world's clock: an interface, because tests and simulations bring their own.
class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual Instant now() const = 0;
  [[nodiscard]] virtual Utc utc_now() const = 0;
};

[[nodiscard]] const Clock& system_clock();

// A clock that stands still until it is told otherwise.
class FakeClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const override { return now_; }
  [[nodiscard]] Utc utc_now() const override { return Utc{now_.time_since_epoch()}; }
  void advance(Duration d) { now_ += d; }
  void set(Instant t) { now_ = t; }

 private:
  Instant now_{};
};

// "2026-05-04T03:02:01.123Z"
[[nodiscard]] std::string format_utc(Utc time);

}  // namespace batchsweep
