// SPDX-License-Identifier: Apache-2.0
// The seam over nlohmann-json: nobody else names the library. Objects keep the order of insertion, so output is byte-stable.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace batchsweep {

using Json = nlohmann::ordered_json;

// The compact text; bytes that are not UTF-8 become U+FFFD instead of an exception.
[[nodiscard]] inline std::string dump(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

// Absent or null -> nullopt. Throws Json::type_error where the type is another.
template <class T>
[[nodiscard]] std::optional<T> get_optional(const Json& json, const char* key) {
  const auto it = json.find(key);
  if (it == json.end() || it->is_null()) return std::nullopt;
  return it->get<T>();
}

}  // namespace batchsweep
