// SPDX-License-Identifier: Apache-2.0
// Owners and checked calls over the HDF5 C API, and the few that are too long there. HDF5's own
// error printing is off: its words go into our messages. Knows nothing of records.
#pragma once

#include <hdf5.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/unique_handle.hpp"

namespace batchsweep::results {

template <herr_t (*Close)(hid_t)>
struct H5Traits {
  using Value = hid_t;
  static Value empty() { return H5I_INVALID_HID; }
  static void close(Value id) noexcept { Close(id); }
};
using H5File = UniqueHandle<H5Traits<H5Fclose>>;
using H5Dataset = UniqueHandle<H5Traits<H5Dclose>>;
using H5Space = UniqueHandle<H5Traits<H5Sclose>>;
using H5Type = UniqueHandle<H5Traits<H5Tclose>>;
using H5List = UniqueHandle<H5Traits<H5Pclose>>;
using H5Attribute = UniqueHandle<H5Traits<H5Aclose>>;

// HDF5 said no. What it was doing, and HDF5's own words.
class H5Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The innermost message of HDF5's error stack.
[[nodiscard]] std::string h5_words();
// Throws H5Error where `result` is negative.
template <class Result>
Result check_h5(Result result, std::string_view doing) {
  if (result < 0) throw H5Error(std::string(doing) + ": " + h5_words());
  return result;
}

// Before any other call: no file locking (network file systems refuse it, and nobody else writes
// our files), no printing.
void start_h5();
// A file that grows in memory: writing it out ourselves keeps a full disk from meeting HDF5 in the
// middle of closing.
[[nodiscard]] H5File create_h5_in_memory();
[[nodiscard]] std::string image_of(const H5File& file);
[[nodiscard]] H5File open_h5(const std::string& path);

[[nodiscard]] H5Type text_type(std::size_t width);  // fixed-length UTF-8, padded with NUL
[[nodiscard]] H5Type flag_type();  // as h5py writes booleans: int8 enum FALSE, TRUE
[[nodiscard]] H5Space row_space(std::uint64_t rows);

void write_attribute(hid_t object, const char* name, std::string_view text);
void write_attribute(hid_t object, const char* name, std::int64_t value);
[[nodiscard]] std::string read_text_attribute(hid_t object,
                                              const char* name);  // "" where there is none
[[nodiscard]] std::int64_t read_integer_attribute(hid_t object, const char* name);

void write_text_dataset(hid_t file, const char* name, std::string_view text);  // one text
// Texts of any length, one a row: variable-length, because one long log must not widen all.
void write_texts(hid_t file, const char* name, const std::vector<std::string>& texts);
[[nodiscard]] std::vector<std::string> read_texts(hid_t file, const char* name);
[[nodiscard]] std::string read_one_text(hid_t file, const char* name, std::uint64_t row);

}  // namespace batchsweep::results
