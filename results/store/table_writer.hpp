// SPDX-License-Identifier: Apache-2.0
// A ColumnTable as one compound dataset: chunks near 1 MiB, shuffle + gzip 1, compressed here and
// handed to HDF5 whole. Knows nothing of what the rows mean.
#pragma once

#include <span>

#include "results/store/column_table.hpp"
#include "results/store/h5.hpp"

struct libdeflate_compressor;

namespace batchsweep::results {

class TableWriter {
 public:
  // The columns and their widths are those of `layout`.
  TableWriter(hid_t file, const char* name, const ColumnTable& layout, std::size_t chunk_rows);
  ~TableWriter();
  TableWriter(const TableWriter&) = delete;
  TableWriter& operator=(const TableWriter&) = delete;

  // Appends these rows of `table` as one chunk. Only the last chunk may have fewer than chunk_rows.
  void write_chunk(const ColumnTable& table, std::span<const std::uint32_t> rows);
  void write_all(const ColumnTable& table);  // all of its rows, in as many chunks as it takes
  [[nodiscard]] std::size_t chunk_rows() const { return chunk_rows_; }

 private:
  void shuffle(const ColumnTable& table, std::span<const std::uint32_t> rows);
  void compress_and_write(std::size_t rows);

  std::string name_;
  std::size_t chunk_rows_;
  std::vector<std::size_t> widths_;
  std::size_t row_bytes_ = 0;
  std::uint64_t written_ = 0;
  H5Dataset dataset_;
  std::vector<char> shuffled_, compressed_;
  libdeflate_compressor* compressor_;
};

// Rows a chunk of at most 1 MiB holds (a reader's chunk cache is that big).
[[nodiscard]] std::size_t chunk_rows_for(std::size_t row_bytes, std::size_t rows);
// All rows, or `rows` of them in that order.
void write_table(hid_t file, const char* name, const ColumnTable& table);
void write_table(hid_t file, const char* name, const ColumnTable& table,
                 std::span<const std::uint32_t> rows);

}  // namespace batchsweep::results
