// SPDX-License-Identifier: Apache-2.0
// A compound dataset block by block, columns by name. Blocks that we wrote ourselves are inflated
// and picked apart here; what other programs wrote goes through HDF5's conversion. Columns that the
// file lacks read as unknown. Knows nothing of what the rows mean.
#pragma once

#include <functional>
#include <optional>

#include "results/store/column_table.hpp"
#include "results/store/h5.hpp"

struct libdeflate_decompressor;

namespace batchsweep::results {

class TableReader {
 public:
  // `wanted` says for each column of the file whether it is read.
  TableReader(hid_t file, const char* name, const std::function<bool(const std::string&)>& wanted);
  ~TableReader();
  TableReader(const TableReader&) = delete;
  TableReader& operator=(const TableReader&) = delete;

  [[nodiscard]] std::uint64_t total_rows() const { return total_rows_; }
  // The number of a wanted column; nullopt: the file has none of that name.
  [[nodiscard]] std::optional<std::size_t> find(std::string_view column) const;
  [[nodiscard]] ColumnKind kind(std::size_t column) const { return members_[column].kind; }

  // The next block of rows; false at the end.
  [[nodiscard]] bool next();
  // Reading goes on with the block that holds `row`.
  void seek(std::uint64_t row);
  [[nodiscard]] std::uint64_t first_row() const { return first_row_; }
  [[nodiscard]] std::size_t rows() const { return rows_; }

  void text(std::size_t column, std::size_t row, std::string& out) const;
  [[nodiscard]] double number(std::size_t column, std::size_t row) const;
  [[nodiscard]] std::int64_t integer(std::size_t column, std::size_t row) const;
  [[nodiscard]] bool flag(std::size_t column, std::size_t row) const;

 private:
  struct Member {
    std::string name;
    ColumnKind kind = ColumnKind::kNumber;
    std::size_t offset = 0, width = 0;
  };
  void add_member(hid_t type, unsigned index);
  [[nodiscard]] bool stored_as_we_do() const;
  void prepare_conversion();
  void inflate_block();
  void convert_block();
  [[nodiscard]] std::uint64_t bits(const Member& member, std::size_t row) const;

  std::string name_;
  H5Dataset dataset_;
  H5Type memory_type_;  // empty: blocks are picked apart here
  std::uint64_t total_rows_ = 0, next_row_ = 0, first_row_ = 0;
  std::size_t rows_ = 0, block_rows_ = 0, row_bytes_ = 0;
  bool native_ = true;  // every wanted member has the type we write
  std::vector<Member> members_;
  std::vector<char> stored_, block_;
  std::size_t row_step_ = 1,
              byte_step_ = 1;  // from one row to the next, from one byte of a value to the next
  libdeflate_decompressor* decompressor_ = nullptr;
};

// Rows of `Record`, matched by name: members whose column is absent or unwanted keep what
// clear_record gives.
template <class Record>
class RecordReader {
 public:
  RecordReader(hid_t file, const char* name, const std::function<bool(const std::string&)>& wanted)
      : table_(file, name, wanted) {
    for (const Field<Record>& field : fields_of<Record>()) {
      if (const auto column = table_.find(field.name))
        bound_.push_back({&field, *column, table_.kind(*column)});
    }
    for (const Bound& bound : bound_) check(bound);
  }
  [[nodiscard]] TableReader& table() { return table_; }
  // `out` was cleared before its first use.
  void read(std::size_t row, Record& out) const {
    for (const Bound& bound : bound_) read(bound, row, out);
  }

 private:
  struct Bound {
    const Field<Record>* field;
    std::size_t column;
    ColumnKind kind;
  };
  static void check(const Bound& bound) {
    const ColumnKind wanted = kind_of(*bound.field);
    if ((wanted == ColumnKind::kText) != (bound.kind == ColumnKind::kText)) {
      throw H5Error("column " + std::string(bound.field->name) + ": has another type");
    }
  }
  void read(const Bound& bound, std::size_t row, Record& out) const {
    const auto& member = bound.field->member;
    if (const auto* text = std::get_if<std::string Record::*>(&member)) {
      table_.text(bound.column, row, out.**text);
    } else if (const auto* number = std::get_if<Number Record::*>(&member)) {
      const double value = table_.number(bound.column, row);
      out.** number = value == value ? Number(value) : std::nullopt;
    } else if (const auto* integer = std::get_if<std::int64_t Record::*>(&member)) {
      out.** integer = table_.integer(bound.column, row);
    } else if (const auto* flag = std::get_if<bool Record::*>(&member)) {
      out.** flag = table_.flag(bound.column, row);
    }
  }

  TableReader table_;
  std::vector<Bound> bound_;
};

}  // namespace batchsweep::results
