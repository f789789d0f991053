// SPDX-License-Identifier: Apache-2.0
#include "worker/agent/host_list.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

#include "base/text.hpp"

namespace batchsweep::agent {
namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = std::min(text.find_first_not_of(' '), text.size());
  text.remove_prefix(begin);
  return text.substr(0, text.find_last_not_of(' ') + 1);
}

// Cuts off and returns what stands before the next comma outside of brackets.
std::string_view next_item(std::string_view& rest) {
  int depth = 0;
  std::size_t end = 0;
  for (; end < rest.size() && (rest[end] != ',' || depth > 0); ++end)
    depth += rest[end] == '[' ? 1 : rest[end] == ']' ? -1 : 0;
  const std::string_view item = trimmed(rest.substr(0, end));
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return item;
}

std::optional<unsigned long> number(std::string_view digits) {
  unsigned long value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (digits.empty() || error != std::errc{} || end != digits.data() + digits.size())
    return std::nullopt;
  return value;
}

// "7" or "01-12": the width of the first number is the width of all.
bool in_range(std::string_view range, std::string_view digits) {
  const std::size_t dash = range.find('-');
  const std::string_view first = range.substr(0, dash);
  const std::string_view last = dash == std::string_view::npos ? first : range.substr(dash + 1);
  const auto from = number(first), to = number(last), value = number(digits);
  if (!from || !to || !value || *value < *from || *value > *to) return false;
  const bool padded = first.size() > 1 && first.front() == '0';
  return padded ? digits.size() == first.size() : digits == "0" || digits.front() != '0';
}

bool item_matches(std::string_view item, std::string_view host) {
  const std::size_t open = item.find('['), close = item.find(']', open);
  if (open == std::string_view::npos || close == std::string_view::npos)
    return matches_pattern(host, item);
  const std::string_view prefix = item.substr(0, open), suffix = item.substr(close + 1);
  if (host.size() <= prefix.size() + suffix.size() || !host.starts_with(prefix) ||
      !host.ends_with(suffix))
    return false;
  const std::string_view digits =
      host.substr(prefix.size(), host.size() - prefix.size() - suffix.size());
  std::string_view ranges = item.substr(open + 1, close - open - 1);
  while (!ranges.empty()) {
    if (in_range(next_item(ranges), digits)) return true;
  }
  return false;
}

}  // namespace

bool host_list_contains(std::string_view list, std::string_view host) {
  if (trimmed(list).empty()) return true;
  while (!list.empty()) {
    if (item_matches(next_item(list), host)) return true;
  }
  return false;
}

}  // namespace batchsweep::agent
