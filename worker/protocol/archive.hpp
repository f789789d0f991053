// SPDX-License-Identifier: Apache-2.0
// A flat little-endian byte form for structs that list their members once: `members(archive, s)`
// calls archive(s.a, s.b, ...), and a Writer or a Reader does the rest, so the two directions
// cannot differ. Knows no message.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/enum_names.hpp"
#include "base/error.hpp"
#include "base/json.hpp"
#include "results/record/fields.hpp"

namespace batchsweep::protocol::detail {

static_assert(std::endian::native == std::endian::little);

template <class T>
concept Plain = std::is_arithmetic_v<T>;
template <class T>
concept Record = requires {
  results::fields_of<T>();
}
&&(std::same_as<T, results::RankRecord> || std::same_as<T, results::SoftwareRecord> ||
   std::same_as<T, results::HostRecord>);

class Writer {
 public:
  template <class... T>
  void operator()(const T&... values) {
    (put(values), ...);
  }
  [[nodiscard]] std::string take() { return std::move(bytes_); }

 private:
  template <Plain T>
  void put(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  template <class E>
  requires std::is_enum_v<E>
  void put(E value) { put(static_cast<std::uint8_t>(value)); }
  void put_size(std::size_t size) { put(static_cast<std::uint32_t>(size)); }
  void put(std::string_view text) {
    put_size(text.size());
    bytes_.append(text);
  }
  void put(const std::string& text) { put(std::string_view(text)); }
  void put(const Json& json) { put(dump(json)); }
  template <class T>
  void put(const std::optional<T>& value) {
    put(static_cast<std::uint8_t>(value.has_value()));
    if (value) put(*value);
  }
  template <class T>
  void put(const std::vector<T>& values) {
    put_size(values.size());
    if constexpr (Plain<T>) {
      bytes_.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
    } else {
      for (const T& value : values) put(value);
    }
  }
  template <class K, class V>
  void put(const std::map<K, V>& map) {
    put_size(map.size());
    for (const auto& [key, value] : map) (*this)(key, value);
  }
  // Records travel as (name, value) of the fields that are not at their default, so a column more
  // on one side does no harm.
  template <Record R>
  void put(const R& record) {
    static const R kDefault{};
    for (const auto& field : results::fields_of<R>()) {
      std::visit(
          [&](auto member) {
            if (record.*member == kDefault.*member) return;
            put(field.name);
            put(static_cast<std::uint8_t>(field.member.index()));
            put(record.*member);
          },
          field.member);
    }
    put(std::string_view{});
  }
  template <class T>
  requires(std::is_class_v<T> && !Record<T>) void put(const T& value) { members(*this, value); }

  std::string bytes_;
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}
  template <class... T>
  void operator()(T&... values) {
    (get(values), ...);
  }
  [[nodiscard]] bool at_end() const { return rest_.empty(); }

 private:
  std::string_view take(std::size_t size) {
    if (size > rest_.size()) throw ProtocolError("message cut short");
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }
  template <Plain T>
  void get(T& value) {
    if constexpr (std::same_as<T, bool>) {
      value = take(1).front() != 0;
    } else {
      std::memcpy(&value, take(sizeof value).data(), sizeof value);
    }
  }
  template <class E>
  requires std::is_enum_v<E>
  void get(E& value) {
    const auto number = static_cast<unsigned char>(take(1).front());
    for (const auto& entry : enum_names(E{})) {
      if (static_cast<unsigned char>(entry.value) == number)
        return static_cast<void>(value = entry.value);
    }
    throw ProtocolError("message with an unknown word");
  }
  // Every element takes a byte or more: a size beyond what is there is refused before memory is
  // asked for.
  std::size_t get_size() {
    std::uint32_t size = 0;
    get(size);
    if (size > rest_.size()) throw ProtocolError("message cut short");
    return size;
  }
  std::string_view get_text() { return take(get_size()); }
  void get(std::string& text) { text = get_text(); }
  void get(Json& json) {
    try {
      json = Json::parse(get_text());
    } catch (const Json::exception& error) {
      throw ProtocolError(std::string("message with broken JSON: ") + error.what());
    }
  }
  template <class T>
  void get(std::optional<T>& value) {
    bool there = false;
    get(there);
    if (there) get(value.emplace());
  }
  template <class T>
  void get(std::vector<T>& values) {
    const std::size_t size = get_size();
    if constexpr (Plain<T>) {
      const std::string_view bytes = take(size * sizeof(T));
      values.resize(size);
      if (size > 0) std::memcpy(values.data(), bytes.data(), bytes.size());
    } else {
      values.clear();
      for (std::size_t i = 0; i < size; ++i) get(values.emplace_back());
    }
  }
  template <class K, class V>
  void get(std::map<K, V>& map) {
    for (std::size_t left = get_size(); left > 0; --left) {
      K key;
      get(key);
      get(map[std::move(key)]);
    }
  }
  template <Record R>
  void get(R& record) {
    const auto fields = results::fields_of<R>();
    std::size_t next = 0;
    for (std::string_view name = get_text(); !name.empty(); name = get_text()) {
      const auto index = static_cast<std::size_t>(take(1).front());
      while (next < fields.size() && fields[next].name != name) ++next;
      if (next < fields.size() && fields[next].member.index() == index) {
        std::visit([&](auto member) { get(record.*member); }, fields[next].member);
      } else {
        next = 0;
        skip(index);
      }
    }
  }
  // The value of a field that this side does not have.
  void skip(std::size_t index) {
    std::tuple<std::string, std::int64_t, results::Number, bool> ignored;
    switch (index) {
      case 0:
        return get(std::get<0>(ignored));
      case 1:
        return get(std::get<1>(ignored));
      case 2:
        return get(std::get<2>(ignored));
      case 3:
        return get(std::get<3>(ignored));
      default:
        throw ProtocolError("message with an unknown type of field");
    }
  }
  template <class T>
  requires(std::is_class_v<T> && !Record<T>) void get(T& value) { members(*this, value); }

  std::string_view rest_;
};

}  // namespace batchsweep::protocol::detail
