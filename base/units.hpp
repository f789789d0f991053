// SPDX-License-Identifier: Apache-2.0
// Sizes and times as people write them. "GB" is 10^9, "GiB" 2^30; a number without a unit is refused (nullopt).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace batchsweep {

// "11 GiB", "512MiB", "1.5 GB", "64 B" -> bytes. nullopt: no unit, unknown unit ("80G", "80 gb"), negative, over 2^63-1.
[[nodiscard]] std::optional<std::uint64_t> parse_bytes(std::string_view text);
// Where parse_bytes() has no answer: the text has the form of a size but is over 2^63-1.
[[nodiscard]] bool is_too_large_size(std::string_view text);
// "30 s", "10 min", "2 h", "5 ms", "10 us", "1 d" -> seconds. nullopt as above.
[[nodiscard]] std::optional<double> parse_seconds(std::string_view text);
// 85520809984 -> "79.6 GiB"; below 1 KiB "512 B".
[[nodiscard]] std::string format_bytes(double bytes);
// 0.0123 -> "12.3 ms"; 75 -> "1 min 15 s"; 7500 -> "2 h 5 min".
[[nodiscard]] std::string format_seconds(double s);

}  // namespace batchsweep
