// SPDX-License-Identifier: Apache-2.0
#include "base/units.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <limits>

namespace batchsweep {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

constexpr double kKi = 1024.0;
constexpr double kBytesEnd = 9223372036854775808.0;  // 2^63: sizes are stored as int64
constexpr auto kByteUnits = std::to_array<Unit>({{"B", 1},
                                                 {"KB", 1e3},
                                                 {"MB", 1e6},
                                                 {"GB", 1e9},
                                                 {"TB", 1e12},
                                                 {"KiB", kKi},
                                                 {"MiB", kKi* kKi},
                                                 {"GiB", kKi* kKi* kKi},
                                                 {"TiB", kKi* kKi* kKi* kKi}});
constexpr auto kTimeUnits = std::to_array<Unit>(
    {{"us", 1e-6}, {"ms", 1e-3}, {"s", 1}, {"min", 60}, {"h", 3600}, {"d", 86400}});

// Infinite where the number is over the range of double.
template <std::size_t N>
std::optional<double> parse_with_unit(std::string_view text, const std::array<Unit, N>& units) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  if (error == std::errc::result_out_of_range) {
    number = std::numeric_limits<double>::infinity();
  } else if (error != std::errc{} || !std::isfinite(number)) {
    return std::nullopt;
  }
  if (text.starts_with('-')) return std::nullopt;
  std::string_view unit(rest, static_cast<std::size_t>(end - rest));
  while (!unit.empty() && unit.front() == ' ') unit.remove_prefix(1);
  while (!unit.empty() && unit.back() == ' ') unit.remove_suffix(1);
  for (const Unit& candidate : units) {
    if (candidate.name == unit) return number * candidate.factor;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::uint64_t> parse_bytes(std::string_view text) {
  const std::optional<double> bytes = parse_with_unit(text, kByteUnits);
  if (!bytes || *bytes >= kBytesEnd) return std::nullopt;
  return static_cast<std::uint64_t>(std::llround(*bytes));
}

bool is_too_large_size(std::string_view text) {
  const std::optional<double> bytes = parse_with_unit(text, kByteUnits);
  return bytes && *bytes >= kBytesEnd;
}

std::optional<double> parse_seconds(std::string_view text) {
  const std::optional<double> s = parse_with_unit(text, kTimeUnits);
  return s && std::isfinite(*s) ? s : std::nullopt;
}

std::string format_bytes(double bytes) {
  if (bytes < kKi) return fmt::format("{:.0f} B", bytes);
  double value = bytes;
  const char* unit = "B";
  for (const char* next : {"KiB", "MiB", "GiB", "TiB"}) {
    if (value < kKi) break;
    value /= kKi;
    unit = next;
  }
  return fmt::format("{:.{}f} {}", value, value < 100 ? 1 : 0, unit);
}

std::string format_seconds(double s) {
  if (s < 1e-3) return fmt::format("{:.3g} us", s * 1e6);
  if (s < 1) return fmt::format("{:.3g} ms", s * 1e3);
  if (s < 60) return fmt::format("{:.3g} s", s);
  const auto whole = static_cast<std::int64_t>(std::llround(s));
  const auto both = [](std::int64_t large, const char* unit, std::int64_t small, const char* part) {
    return small == 0 ? fmt::format("{} {}", large, unit)
                      : fmt::format("{} {} {} {}", large, unit, small, part);
  };
  if (whole < 3600) return both(whole / 60, "min", whole % 60, "s");
  return both(whole / 3600, "h", whole % 3600 / 60, "min");
}

}  // namespace batchsweep
