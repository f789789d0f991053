// SPDX-License-Identifier: Apache-2.0
// Rows held column by column: what a million rows cost in memory is what they hold, not what their
// structs would. Filled from records by the field table. Knows nothing of HDF5.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "results/record/fields.hpp"

namespace batchsweep::results {

enum class ColumnKind { kText, kInteger, kNumber, kFlag };

class Column {
 public:
  Column(std::string_view name, ColumnKind kind) : name_(name), kind_(kind) {}

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] ColumnKind kind() const { return kind_; }
  // Bytes of one value in a file: for text the longest value, at least 1.
  [[nodiscard]] std::size_t width() const {
    return kind_ == ColumnKind::kText ? text_width_ : (kind_ == ColumnKind::kFlag ? 1 : 8);
  }

  void add_text(std::string_view text);
  void add_bits(std::uint64_t bits) { bits_.push_back(bits); }  // of an integer or a number
  void add_flag(bool flag) { flags_.push_back(flag ? 1 : 0); }
  void clear();

  [[nodiscard]] std::string_view text(std::size_t row) const;
  [[nodiscard]] std::uint64_t bits(std::size_t row) const { return bits_[row]; }
  [[nodiscard]] double number(std::size_t row) const;
  [[nodiscard]] std::int64_t integer(std::size_t row) const {
    return static_cast<std::int64_t>(bits_[row]);
  }
  [[nodiscard]] bool flag(std::size_t row) const { return flags_[row] != 0; }
  void set_number(std::size_t row, double value);

 private:
  std::string name_;
  ColumnKind kind_;
  std::size_t text_width_ = 1;
  std::string chars_;  // of all texts, behind each other; equal neighbours share theirs
  std::vector<std::uint64_t> bits_;  // numbers; of a text: place in chars_ << 20 | length
  std::vector<std::uint8_t> flags_;
};

// Texts longer than this are cut (with a mark): long ones belong into /text.
constexpr std::size_t kMostTextBytes = 4000;

class ColumnTable {
 public:
  template <class Record>
  static ColumnTable of();
  template <class Record>
  void append(const Record& record);
  void clear();

  [[nodiscard]] std::size_t rows() const { return rows_; }
  [[nodiscard]] const std::vector<Column>& columns() const { return columns_; }
  [[nodiscard]] const Column& column(std::string_view name) const;
  [[nodiscard]] std::size_t row_bytes() const;

 private:
  std::vector<Column> columns_;
  std::size_t rows_ = 0;
};

template <class Record>
ColumnKind kind_of(const Field<Record>& field) {
  if (std::holds_alternative<std::string Record::*>(field.member)) return ColumnKind::kText;
  if (std::holds_alternative<std::int64_t Record::*>(field.member)) return ColumnKind::kInteger;
  if (std::holds_alternative<Number Record::*>(field.member)) return ColumnKind::kNumber;
  return ColumnKind::kFlag;
}

namespace detail {
[[nodiscard]] std::uint64_t bits_of(const Number& number);
}

template <class Record>
ColumnTable ColumnTable::of() {
  ColumnTable table;
  for (const Field<Record>& field : fields_of<Record>())
    table.columns_.emplace_back(field.name, kind_of(field));
  return table;
}

template <class Record>
void ColumnTable::append(const Record& record) {
  std::size_t i = 0;
  for (const Field<Record>& field : fields_of<Record>()) {
    Column& column = columns_[i++];
    if (const auto* text = std::get_if<std::string Record::*>(&field.member)) {
      column.add_text(record.**text);
    } else if (const auto* integer = std::get_if<std::int64_t Record::*>(&field.member)) {
      column.add_bits(static_cast<std::uint64_t>(record.**integer));
    } else if (const auto* number = std::get_if<Number Record::*>(&field.member)) {
      column.add_bits(detail::bits_of(record.**number));
    } else if (const auto* flag = std::get_if<bool Record::*>(&field.member)) {
      column.add_flag(record.**flag);
    }
  }
  ++rows_;
}

}  // namespace batchsweep::results
