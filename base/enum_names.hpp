// SPDX-License-Identifier: Apache-2.0
// enum <-> text, one table per enum. Beside the enum, in its namespace, write
//     constexpr auto enum_names(Color) { return std::to_array<EnumName<Color>>({{Color::kRed, "red"}, ...}); }
// and to_text(Color::kRed), from_text<Color>("red") follow. The tables are closed: a round-trip test covers each.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "base/check.hpp"

namespace batchsweep {

template <class E>
struct EnumName {
  E value;
  std::string_view name;
};

template <class E>
[[nodiscard]] constexpr std::string_view to_text(E value) {
  for (const auto& entry : enum_names(E{})) {
    if (entry.value == value) return entry.name;
  }
  assertion_failed("every enumerator has a name", __FILE__, __LINE__);
}

template <class E>
[[nodiscard]] constexpr std::optional<E> from_text(std::string_view name) {
  for (const auto& entry : enum_names(E{})) {
    if (entry.name == name) return entry.value;
  }
  return std::nullopt;
}

}  // namespace batchsweep
