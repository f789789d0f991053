// SPDX-License-Identifier: Apache-2.0
#include "results/record/json_cursor.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstring>
#include <limits>

#include "base/error.hpp"

namespace batchsweep::results {
namespace {

void append_utf8(std::string& out, std::uint32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xC0 | (code >> 6));
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xE0 | (code >> 12));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else {
    out += static_cast<char>(0xF0 | (code >> 18));
    out += static_cast<char>(0x80 | ((code >> 12) & 0x3F));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (code & 0x3F));
  }
}

}  // namespace

void JsonCursor::fail(std::string_view wanted) const {
  throw ResultsFileError(fmt::format("record: expected {} at byte {}", wanted, at_ - begin_));
}

char JsonCursor::peek() {
  while (at_ != end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\t' || *at_ == '\r')) ++at_;
  return at_ == end_ ? '\0' : *at_;
}

void JsonCursor::expect(char c) {
  if (peek() != c || at_ == end_) fail(std::string_view(&c, 1));
  ++at_;
}

bool JsonCursor::take_word(std::string_view word) {
  if (peek() != word.front() || static_cast<std::size_t>(end_ - at_) < word.size() ||
      std::memcmp(at_, word.data(), word.size()) != 0) {
    return false;
  }
  at_ += word.size();
  return true;
}

bool JsonCursor::next_member(std::string_view& key) {
  if (peek() == ',') ++at_;
  if (peek() == '}') {
    ++at_;
    return false;
  }
  expect('"');
  const char* start = at_;
  while (at_ != end_ && *at_ != '"') at_ += (*at_ == '\\' && at_ + 1 != end_) ? 2 : 1;
  if (at_ == end_) fail("a key");
  key = std::string_view(start, static_cast<std::size_t>(at_ - start));
  ++at_;
  expect(':');
  return true;
}

bool JsonCursor::next_element() {
  if (peek() == ',') ++at_;
  if (peek() == ']') {
    ++at_;
    return false;
  }
  if (at_ == end_) fail("an element");
  return true;
}

void JsonCursor::append_escape(std::string& out) {
  const auto hex4 = [this] {
    std::uint32_t value = 0;
    if (end_ - at_ < 4 || std::from_chars(at_, at_ + 4, value, 16).ptr != at_ + 4)
      fail("four hex digits");
    at_ += 4;
    return value;
  };
  if (at_ == end_) fail("an escape");
  switch (const char c = *at_++) {
    case 'n':
      out += '\n';
      return;
    case 't':
      out += '\t';
      return;
    case 'r':
      out += '\r';
      return;
    case 'b':
      out += '\b';
      return;
    case 'f':
      out += '\f';
      return;
    case 'u': {
      std::uint32_t code = hex4();
      if (code >= 0xD800 && code < 0xDC00 && end_ - at_ >= 2 && at_[0] == '\\' && at_[1] == 'u') {
        at_ += 2;
        code = 0x10000 + ((code - 0xD800) << 10) + (hex4() - 0xDC00);
      }
      append_utf8(out, code);
      return;
    }
    default:
      out += c;  // the quote, the backslash, the slash
  }
}

void JsonCursor::text(std::string& out) {
  expect('"');
  out.clear();
  for (;;) {
    const char* start = at_;
    while (at_ != end_ && *at_ != '"' && *at_ != '\\') ++at_;
    out.append(start, at_);
    if (at_ == end_) fail("the end of a text");
    if (*at_++ == '"') return;
    append_escape(out);
  }
}

std::int64_t JsonCursor::integer() {
  (void)peek();
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(at_, end_, value);
  if (error != std::errc()) fail("an integer");
  at_ = end;
  return value;
}

double JsonCursor::number() {
  if (take_word("null")) return std::numeric_limits<double>::quiet_NaN();
  if (take_word("\"inf\"")) return std::numeric_limits<double>::infinity();
  if (take_word("\"-inf\"")) return -std::numeric_limits<double>::infinity();
  double value = 0;
  const auto [end, error] = std::from_chars(at_, end_, value);
  if (error != std::errc()) fail("a number");
  at_ = end;
  return value;
}

bool JsonCursor::flag() {
  if (take_word("true")) return true;
  if (take_word("false")) return false;
  fail("true or false");
}

void JsonCursor::skip_string() {
  expect('"');
  while (at_ != end_ && *at_ != '"') at_ += (*at_ == '\\' && at_ + 1 != end_) ? 2 : 1;
  if (at_ == end_) fail("the end of a text");
  ++at_;
}

void JsonCursor::skip() {
  std::size_t depth = 0;
  do {
    const char c = peek();
    if (at_ == end_) fail("a value");
    if (c == '"') {
      skip_string();
    } else if (c == '{' || c == '[') {
      ++depth;
      ++at_;
    } else if (depth != 0 && (c == '}' || c == ']')) {
      --depth;
      ++at_;
    } else if (depth != 0 && (c == ',' || c == ':')) {
      ++at_;
    } else {
      skip_word();
    }
  } while (depth != 0);
}

// A number, true, false or null.
void JsonCursor::skip_word() {
  const char* start = at_;
  while (at_ != end_ && std::strchr(",:]} \n\t\r", *at_) == nullptr) ++at_;
  if (at_ == start) fail("a value");
}

std::string_view JsonCursor::raw() {
  (void)peek();
  const char* start = at_;
  skip();
  return {start, static_cast<std::size_t>(at_ - start)};
}

}  // namespace batchsweep::results
