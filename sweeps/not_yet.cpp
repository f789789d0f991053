// SPDX-License-Identifier: Apache-2.0
#include "sweeps/not_yet.hpp"

#include <fmt/format.h>

#include <array>

#include "base/text.hpp"

namespace batchsweep::sweeps {
namespace {

struct NotYet {
  std::string_view name;
  std::string_view available;  // what exists already, patterns between commas; "" = nothing
  bool in_rehearsal = false;   // does not exist in a rehearsal either
};

// In the order of names.
constexpr auto kNotYet = std::to_array<NotYet>({
    {"adaptive", "a number", true},  // of timed_steps
    {"largest", "numbers", true},    // of batch_size
    {"precision", "fp32,tf32,bf16,fp16,bf16-true"},
    {"prices", "", true},
});

bool is_available(std::string_view patterns, std::string_view value) {
  for (std::size_t at = 0; at < patterns.size();) {
    const std::size_t comma = std::min(patterns.find(',', at), patterns.size());
    if (matches_pattern(value, patterns.substr(at, comma - at))) return true;
    at = comma + 1;
  }
  return false;
}

std::string with_spaces(std::string_view patterns) {
  std::string text;
  for (const char c : patterns) text += c == ',' ? std::string(", ") : std::string(1, c);
  return text;
}

}  // namespace

bool refuse_not_yet(std::string_view name, std::string_view value, bool rehearsal,
                    const Place& place, const std::string& key, Findings& findings) {
  for (const NotYet& entry : kNotYet) {
    if (entry.name != name || (rehearsal && !entry.in_rehearsal) ||
        is_available(entry.available, value))
      continue;
    const std::string what = value.empty() ? std::string() : fmt::format("\"{}\" is ", value);
    const std::string instead = entry.available.empty()
                                    ? std::string()
                                    : fmt::format(" (available: {})", with_spaces(entry.available));
    findings.add(place, key, what + "not available yet" + instead);
    return true;
  }
  return false;
}

}  // namespace batchsweep::sweeps
