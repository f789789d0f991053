// SPDX-License-Identifier: Apache-2.0
#include "results/store/column_table.hpp"

#include <bit>
#include <limits>

#include "base/check.hpp"

namespace batchsweep::results {
namespace {

constexpr int kLengthBits = 20;
constexpr std::uint64_t kLengthMask = (std::uint64_t{1} << kLengthBits) - 1;
constexpr std::string_view kCutMark = "...";

// At most kMostTextBytes, never within a character.
std::string_view cut(std::string_view text) {
  std::size_t size = kMostTextBytes - kCutMark.size();
  while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xC0) == 0x80) --size;
  return text.substr(0, size);
}

}  // namespace

namespace detail {
std::uint64_t bits_of(const Number& number) {
  return std::bit_cast<std::uint64_t>(number.value_or(std::numeric_limits<double>::quiet_NaN()));
}
}  // namespace detail

void Column::add_text(std::string_view value) {
  const bool too_long = value.size() > kMostTextBytes;
  const std::string_view kept = too_long ? cut(value) : value;
  if (!too_long && !bits_.empty() && text(bits_.size() - 1) == kept) {
    bits_.push_back(bits_.back());
    return;
  }
  const std::uint64_t place = chars_.size();
  chars_ += kept;
  if (too_long) chars_ += kCutMark;
  const std::uint64_t length = chars_.size() - place;
  bits_.push_back(place << kLengthBits | length);
  text_width_ = std::max<std::size_t>(text_width_, length);
}

void Column::clear() {
  chars_.clear();
  bits_.clear();
  flags_.clear();
  text_width_ = 1;
}

std::string_view Column::text(std::size_t row) const {
  return std::string_view(chars_).substr(bits_[row] >> kLengthBits, bits_[row] & kLengthMask);
}

double Column::number(std::size_t row) const { return std::bit_cast<double>(bits_[row]); }
void Column::set_number(std::size_t row, double value) {
  bits_[row] = std::bit_cast<std::uint64_t>(value);
}

void ColumnTable::clear() {
  for (Column& column : columns_) column.clear();
  rows_ = 0;
}

const Column& ColumnTable::column(std::string_view name) const {
  for (const Column& column : columns_) {
    if (column.name() == name) return column;
  }
  assertion_failed("the table has the column", __FILE__, __LINE__);
}

std::size_t ColumnTable::row_bytes() const {
  std::size_t bytes = 0;
  for (const Column& column : columns_) bytes += column.width();
  return bytes;
}

}  // namespace batchsweep::results
