// SPDX-License-Identifier: Apache-2.0
#include "results/store/table_writer.hpp"

#include <libdeflate.h>

#include <algorithm>
#include <numeric>

namespace batchsweep::results {
namespace {

constexpr std::size_t kChunkBytes = std::size_t{1} << 20;
constexpr unsigned kGzipLevel = 1;

H5Type value_type(const Column& column) {
  switch (column.kind()) {
    case ColumnKind::kText:
      return text_type(column.width());
    case ColumnKind::kInteger:
      return H5Type(check_h5(H5Tcopy(H5T_STD_I64LE), "type"));
    case ColumnKind::kNumber:
      return H5Type(check_h5(H5Tcopy(H5T_IEEE_F64LE), "type"));
    case ColumnKind::kFlag:
      return flag_type();
  }
  return {};
}

H5Type row_type(const ColumnTable& layout) {
  H5Type type(check_h5(H5Tcreate(H5T_COMPOUND, layout.row_bytes()), "row type"));
  std::size_t offset = 0;
  for (const Column& column : layout.columns()) {
    check_h5(H5Tinsert(type.get(), column.name().c_str(), offset, value_type(column).get()),
             column.name());
    offset += column.width();
  }
  return type;
}

H5List chunked(std::size_t chunk_rows) {
  H5List list(check_h5(H5Pcreate(H5P_DATASET_CREATE), "chunks"));
  const hsize_t rows = chunk_rows;
  check_h5(H5Pset_chunk(list.get(), 1, &rows), "chunks");
  check_h5(H5Pset_shuffle(list.get()), "shuffle");
  check_h5(H5Pset_deflate(list.get(), kGzipLevel), "gzip");
  return list;
}

// The filter "shuffle" puts byte k of all rows of a chunk behind each other; `plane` is where byte
// 0 of the column starts.
void shuffle_bits(char* plane, std::size_t stride, const Column& column,
                  std::span<const std::uint32_t> rows) {
  for (std::size_t byte = 0; byte < 8; ++byte, plane += stride) {
    for (std::size_t i = 0; i < rows.size(); ++i)
      plane[i] = static_cast<char>(column.bits(rows[i]) >> (8 * byte));
  }
}

void shuffle_text(char* plane, std::size_t stride, const Column& column,
                  std::span<const std::uint32_t> rows) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    char* to = plane + i;
    for (const char c : column.text(rows[i])) {
      *to = c;
      to += stride;
    }
  }
}

void shuffle_flag(char* plane, const Column& column, std::span<const std::uint32_t> rows) {
  for (std::size_t i = 0; i < rows.size(); ++i) plane[i] = column.flag(rows[i]) ? 1 : 0;
}

}  // namespace

TableWriter::TableWriter(hid_t file, const char* name, const ColumnTable& layout,
                         std::size_t chunk_rows)
    : name_(name), chunk_rows_(chunk_rows), compressor_(libdeflate_alloc_compressor(kGzipLevel)) {
  if (compressor_ == nullptr) throw std::bad_alloc();
  for (const Column& column : layout.columns()) {
    widths_.push_back(column.width());
    row_bytes_ += column.width();
  }
  const H5Type type = row_type(layout);
  const H5Space space = row_space(0);
  const H5List list = chunked(chunk_rows);
  dataset_ = H5Dataset(check_h5(
      H5Dcreate2(file, name, type.get(), space.get(), H5P_DEFAULT, list.get(), H5P_DEFAULT), name));
}

TableWriter::~TableWriter() { libdeflate_free_compressor(compressor_); }

void TableWriter::write_chunk(const ColumnTable& table, std::span<const std::uint32_t> rows) {
  shuffle(table, rows);
  compress_and_write(rows.size());
}

void TableWriter::write_all(const ColumnTable& table) {
  std::vector<std::uint32_t> rows(table.rows());
  std::iota(rows.begin(), rows.end(), 0U);
  const std::span<const std::uint32_t> all(rows);
  for (std::size_t at = 0; at < all.size(); at += chunk_rows_)
    write_chunk(table, all.subspan(at, std::min(chunk_rows_, all.size() - at)));
}

void TableWriter::shuffle(const ColumnTable& table, std::span<const std::uint32_t> rows) {
  shuffled_.assign(chunk_rows_ * row_bytes_, '\0');
  char* plane = shuffled_.data();
  for (std::size_t c = 0; c < widths_.size(); ++c) {
    const Column& column = table.columns()[c];
    switch (column.kind()) {
      case ColumnKind::kText:
        shuffle_text(plane, chunk_rows_, column, rows);
        break;
      case ColumnKind::kInteger:
      case ColumnKind::kNumber:
        shuffle_bits(plane, chunk_rows_, column, rows);
        break;
      case ColumnKind::kFlag:
        shuffle_flag(plane, column, rows);
        break;
    }
    plane += widths_[c] * chunk_rows_;
  }
}

void TableWriter::compress_and_write(std::size_t rows) {
  compressed_.resize(libdeflate_zlib_compress_bound(compressor_, shuffled_.size()));
  const std::size_t size = libdeflate_zlib_compress(compressor_, shuffled_.data(), shuffled_.size(),
                                                    compressed_.data(), compressed_.size());
  const hsize_t extent = written_ + rows, offset = written_;
  check_h5(H5Dset_extent(dataset_.get(), &extent), name_);
  check_h5(H5Dwrite_chunk(dataset_.get(), H5P_DEFAULT, 0, &offset, size, compressed_.data()),
           name_);
  written_ = extent;
}

std::size_t chunk_rows_for(std::size_t row_bytes, std::size_t rows) {
  return std::max<std::size_t>(1,
                               std::min(kChunkBytes / std::max<std::size_t>(row_bytes, 1), rows));
}

void write_table(hid_t file, const char* name, const ColumnTable& table,
                 std::span<const std::uint32_t> rows) {
  TableWriter writer(file, name, table, chunk_rows_for(table.row_bytes(), rows.size()));
  for (std::size_t at = 0; at < rows.size(); at += writer.chunk_rows()) {
    writer.write_chunk(table, rows.subspan(at, std::min(writer.chunk_rows(), rows.size() - at)));
  }
}

void write_table(hid_t file, const char* name, const ColumnTable& table) {
  TableWriter(file, name, table, chunk_rows_for(table.row_bytes(), table.rows())).write_all(table);
}

}  // namespace batchsweep::results
