// SPDX-License-Identifier: Apache-2.0
#include "results/store/table_reader.hpp"

#include <libdeflate.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>

namespace batchsweep::results {
namespace {

constexpr std::size_t kBlockBytes = std::size_t{4} << 20;  // where HDF5 converts

std::optional<ColumnKind> kind_of_type(hid_t type) {
  switch (H5Tget_class(type)) {
    case H5T_STRING:
      return H5Tis_variable_str(type) > 0 ? std::nullopt : std::optional(ColumnKind::kText);
    case H5T_INTEGER:
      return ColumnKind::kInteger;
    case H5T_FLOAT:
      return ColumnKind::kNumber;
    case H5T_ENUM:
      return ColumnKind::kFlag;
    default:
      return std::nullopt;
  }
}

bool is_ours(hid_t type, ColumnKind kind) {
  switch (kind) {
    case ColumnKind::kText:
      return true;
    case ColumnKind::kInteger:
      return H5Tequal(type, H5T_STD_I64LE) > 0;
    case ColumnKind::kNumber:
      return H5Tequal(type, H5T_IEEE_F64LE) > 0;
    case ColumnKind::kFlag:
      return H5Tget_size(type) == 1;
  }
  return false;
}

std::string member_name(hid_t type, unsigned index) {
  const std::unique_ptr<char, decltype(&H5free_memory)> name(H5Tget_member_name(type, index),
                                                             &H5free_memory);
  return name ? std::string(name.get()) : "";
}

}  // namespace

TableReader::TableReader(hid_t file, const char* name,
                         const std::function<bool(const std::string&)>& wanted)
    : name_(name) {
  dataset_ = H5Dataset(check_h5(H5Dopen2(file, name, H5P_DEFAULT), name));
  const H5Space space(check_h5(H5Dget_space(dataset_.get()), name));
  if (H5Sget_simple_extent_ndims(space.get()) != 1)
    throw H5Error(name_ + ": is not a list of rows");
  total_rows_ =
      static_cast<std::uint64_t>(check_h5(H5Sget_simple_extent_npoints(space.get()), name));
  const H5Type type(check_h5(H5Dget_type(dataset_.get()), name));
  if (H5Tget_class(type.get()) != H5T_COMPOUND) throw H5Error(name_ + ": is not a table");
  row_bytes_ = H5Tget_size(type.get());
  const int count = check_h5(H5Tget_nmembers(type.get()), name);
  for (int i = 0; i < count; ++i) {
    if (wanted(member_name(type.get(), static_cast<unsigned>(i))))
      add_member(type.get(), static_cast<unsigned>(i));
  }
  if (native_ && stored_as_we_do()) {
    decompressor_ = libdeflate_alloc_decompressor();
    if (decompressor_ == nullptr) throw std::bad_alloc();
  } else {
    prepare_conversion();
  }
}

TableReader::~TableReader() {
  if (decompressor_ != nullptr) libdeflate_free_decompressor(decompressor_);
}

void TableReader::add_member(hid_t type, unsigned index) {
  const H5Type value(check_h5(H5Tget_member_type(type, index), name_));
  Member member;
  member.name = member_name(type, index);
  const auto kind = kind_of_type(value.get());
  if (!kind) throw H5Error(name_ + ": column " + member.name + " has a type that is not used here");
  member.kind = *kind;
  member.offset = H5Tget_member_offset(type, index);
  member.width = H5Tget_size(value.get());
  native_ = native_ && is_ours(value.get(), *kind);
  members_.push_back(member);
}

// Chunked, and the filters are shuffle and gzip, in that order.
bool TableReader::stored_as_we_do() const {
  const H5List list(check_h5(H5Dget_create_plist(dataset_.get()), name_));
  if (H5Pget_layout(list.get()) != H5D_CHUNKED || H5Pget_nfilters(list.get()) != 2) return false;
  const auto filter = [&](unsigned index) {
    unsigned flags = 0, config = 0;
    std::size_t values = 0;
    return H5Pget_filter2(list.get(), index, &flags, &values, nullptr, 0, nullptr, &config);
  };
  if (filter(0) != H5Z_FILTER_SHUFFLE || filter(1) != H5Z_FILTER_DEFLATE) return false;
  hsize_t chunk = 0;
  check_h5(H5Pget_chunk(list.get(), 1, &chunk), name_);
  const_cast<TableReader*>(this)->block_rows_ = chunk;
  return true;
}

void TableReader::prepare_conversion() {
  std::size_t offset = 0;
  for (Member& member : members_) {
    member.offset = offset;
    if (member.kind == ColumnKind::kInteger || member.kind == ColumnKind::kNumber) member.width = 8;
    offset += member.width;
  }
  row_bytes_ = std::max<std::size_t>(offset, 1);
  block_rows_ = std::max<std::size_t>(1, kBlockBytes / row_bytes_);
  memory_type_ = H5Type(check_h5(H5Tcreate(H5T_COMPOUND, row_bytes_), name_));
  const H5Type file_type(check_h5(H5Dget_type(dataset_.get()), name_));
  for (const Member& member : members_) {
    const int index = check_h5(H5Tget_member_index(file_type.get(), member.name.c_str()), name_);
    const H5Type own(
        check_h5(H5Tget_member_type(file_type.get(), static_cast<unsigned>(index)), name_));
    const hid_t type = member.kind == ColumnKind::kInteger  ? H5T_NATIVE_INT64
                       : member.kind == ColumnKind::kNumber ? H5T_NATIVE_DOUBLE
                                                            : own.get();
    check_h5(H5Tinsert(memory_type_.get(), member.name.c_str(), member.offset, type), name_);
  }
}

std::optional<std::size_t> TableReader::find(std::string_view column) const {
  const auto it = std::find_if(members_.begin(), members_.end(),
                               [&](const Member& member) { return member.name == column; });
  if (it == members_.end()) return std::nullopt;
  return static_cast<std::size_t>(it - members_.begin());
}

void TableReader::seek(std::uint64_t row) { next_row_ = row / block_rows_ * block_rows_; }

bool TableReader::next() {
  if (next_row_ >= total_rows_) return false;
  first_row_ = next_row_;
  rows_ = static_cast<std::size_t>(std::min<std::uint64_t>(block_rows_, total_rows_ - next_row_));
  if (members_.empty()) {
    // Nothing is read of it.
  } else if (decompressor_ != nullptr) {
    inflate_block();
  } else {
    convert_block();
  }
  next_row_ += rows_;
  return true;
}

void TableReader::inflate_block() {
  const hsize_t offset = first_row_;
  hsize_t size = 0;
  check_h5(H5Dget_chunk_storage_size(dataset_.get(), &offset, &size), name_);
  stored_.resize(size);
  std::uint32_t skipped_filters = 0;
  check_h5(H5Dread_chunk(dataset_.get(), H5P_DEFAULT, &offset, &skipped_filters, stored_.data()),
           name_);
  block_.resize(block_rows_ * row_bytes_);
  if (skipped_filters != 0 ||
      libdeflate_zlib_decompress(decompressor_, stored_.data(), stored_.size(), block_.data(),
                                 block_.size(), nullptr) != LIBDEFLATE_SUCCESS) {
    throw H5Error(name_ + ": a block cannot be inflated");
  }
  row_step_ = 1;
  byte_step_ = block_rows_;
}

void TableReader::convert_block() {
  block_.resize(rows_ * row_bytes_);
  const H5Space space(check_h5(H5Dget_space(dataset_.get()), name_));
  const hsize_t start = first_row_, count = rows_;
  check_h5(H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, &start, nullptr, &count, nullptr),
           name_);
  const H5Space memory = row_space(count);
  check_h5(H5Dread(dataset_.get(), memory_type_.get(), memory.get(), space.get(), H5P_DEFAULT,
                   block_.data()),
           name_);
  row_step_ = row_bytes_;
  byte_step_ = 1;
}

// Byte `k` of a column's value in a row stands at (offset + k) * byte_step + row * row_step,
// shuffled or not.
std::uint64_t TableReader::bits(const Member& member, std::size_t row) const {
  const char* at = block_.data() + member.offset * byte_step_ + row * row_step_;
  std::uint64_t value = 0;
  for (int byte = 0; byte < 8; ++byte, at += byte_step_) {
    value |= static_cast<std::uint64_t>(static_cast<unsigned char>(*at)) << (8 * byte);
  }
  return value;
}

void TableReader::text(std::size_t column, std::size_t row, std::string& out) const {
  const Member& member = members_[column];
  const char* at = block_.data() + member.offset * byte_step_ + row * row_step_;
  out.clear();
  for (std::size_t byte = 0; byte < member.width && *at != '\0'; ++byte, at += byte_step_)
    out += *at;
}

double TableReader::number(std::size_t column, std::size_t row) const {
  const Member& member = members_[column];
  if (member.kind == ColumnKind::kNumber) return std::bit_cast<double>(bits(member, row));
  return static_cast<double>(integer(column, row));
}

std::int64_t TableReader::integer(std::size_t column, std::size_t row) const {
  const Member& member = members_[column];
  if (member.kind == ColumnKind::kFlag) return flag(column, row) ? 1 : 0;
  if (member.kind == ColumnKind::kInteger) return static_cast<std::int64_t>(bits(member, row));
  const double value = number(column, row);
  return std::isfinite(value) && std::fabs(value) < 9e18 ? static_cast<std::int64_t>(value) : 0;
}

bool TableReader::flag(std::size_t column, std::size_t row) const {
  const Member& member = members_[column];
  if (member.kind == ColumnKind::kFlag)
    return block_[member.offset * byte_step_ + row * row_step_] != 0;
  return integer(column, row) != 0;
}

}  // namespace batchsweep::results
