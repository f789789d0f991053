// SPDX-License-Identifier: Apache-2.0
#include "results/store/h5.hpp"

#include <cstdlib>
#include <cstring>

namespace batchsweep::results {
namespace {

herr_t keep_words(unsigned, const H5E_error2_t* error, void* words) {
  *static_cast<std::string*>(words) = error->desc == nullptr ? "" : error->desc;
  return 0;
}

H5Type variable_text_type() {
  H5Type type(check_h5(H5Tcopy(H5T_C_S1), "type"));
  check_h5(H5Tset_size(type.get(), H5T_VARIABLE), "type");
  check_h5(H5Tset_cset(type.get(), H5T_CSET_UTF8), "type");
  return type;
}

// Gives back the strings that HDF5 allocated for a read.
class ReadTexts {
 public:
  ReadTexts(hid_t type, hid_t space, std::size_t count)
      : type_(type), space_(space), texts(count, nullptr) {}
  ~ReadTexts() { H5Dvlen_reclaim(type_, space_, H5P_DEFAULT, texts.data()); }
  ReadTexts(const ReadTexts&) = delete;
  ReadTexts& operator=(const ReadTexts&) = delete;

 private:
  hid_t type_, space_;

 public:
  std::vector<char*> texts;
};

std::string text_or_empty(const char* text) { return text == nullptr ? "" : text; }

}  // namespace

std::string h5_words() {
  std::string words;
  H5Ewalk2(
      H5E_DEFAULT, H5E_WALK_UPWARD,
      [](unsigned n, const H5E_error2_t* error, void* out) {
        return n == 0 ? keep_words(n, error, out) : herr_t{0};
      },
      &words);
  return words.empty() ? "HDF5 gives no reason" : words;
}

void start_h5() {
  static const bool started = [] {
    ::setenv("HDF5_USE_FILE_LOCKING", "FALSE", 1);
    const bool opened = H5open() >= 0;
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
    return opened;
  }();
  if (!started) throw H5Error("the HDF5 library does not start");
}

H5File create_h5_in_memory() {
  start_h5();
  constexpr std::size_t kGrowBy = std::size_t{16} << 20;
  const H5List access(check_h5(H5Pcreate(H5P_FILE_ACCESS), "memory"));
  check_h5(H5Pset_fapl_core(access.get(), kGrowBy, 0), "memory");
  return H5File(check_h5(H5Fcreate("results", H5F_ACC_TRUNC, H5P_DEFAULT, access.get()), "memory"));
}

std::string image_of(const H5File& file) {
  check_h5(H5Fflush(file.get(), H5F_SCOPE_GLOBAL), "memory");
  std::string image(
      static_cast<std::size_t>(check_h5(H5Fget_file_image(file.get(), nullptr, 0), "memory")),
      '\0');
  check_h5(H5Fget_file_image(file.get(), image.data(), image.size()), "memory");
  return image;
}

H5File open_h5(const std::string& path) {
  start_h5();
  return H5File(check_h5(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), "cannot open it"));
}

H5Type text_type(std::size_t width) {
  H5Type type(check_h5(H5Tcopy(H5T_C_S1), "type"));
  check_h5(H5Tset_size(type.get(), std::max<std::size_t>(width, 1)), "type");
  check_h5(H5Tset_cset(type.get(), H5T_CSET_UTF8), "type");
  check_h5(H5Tset_strpad(type.get(), H5T_STR_NULLPAD), "type");
  return type;
}

H5Type flag_type() {
  H5Type type(check_h5(H5Tenum_create(H5T_STD_I8LE), "type"));
  const std::int8_t no = 0, yes = 1;
  check_h5(H5Tenum_insert(type.get(), "FALSE", &no), "type");
  check_h5(H5Tenum_insert(type.get(), "TRUE", &yes), "type");
  return type;
}

H5Space row_space(std::uint64_t rows) {
  const hsize_t dims = rows, most = H5S_UNLIMITED;
  return H5Space(check_h5(H5Screate_simple(1, &dims, &most), "space"));
}

void write_attribute(hid_t object, const char* name, std::string_view text) {
  const H5Type type = text_type(text.size());
  const H5Space space(check_h5(H5Screate(H5S_SCALAR), name));
  const H5Attribute attribute(
      check_h5(H5Acreate2(object, name, type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT), name));
  const std::string padded(text.empty() ? std::string_view("\0", 1) : text);
  check_h5(H5Awrite(attribute.get(), type.get(), padded.data()), name);
}

void write_attribute(hid_t object, const char* name, std::int64_t value) {
  const H5Space space(check_h5(H5Screate(H5S_SCALAR), name));
  const H5Attribute attribute(check_h5(
      H5Acreate2(object, name, H5T_STD_I64LE, space.get(), H5P_DEFAULT, H5P_DEFAULT), name));
  check_h5(H5Awrite(attribute.get(), H5T_NATIVE_INT64, &value), name);
}

std::string read_text_attribute(hid_t object, const char* name) {
  if (check_h5(H5Aexists(object, name), name) == 0) return "";
  const H5Attribute attribute(check_h5(H5Aopen(object, name, H5P_DEFAULT), name));
  const H5Type type(check_h5(H5Aget_type(attribute.get()), name));
  if (H5Tget_class(type.get()) != H5T_STRING) throw H5Error(std::string(name) + ": is no text");
  if (H5Tis_variable_str(type.get()) > 0) {
    const H5Type memory = variable_text_type();
    const H5Space space(check_h5(H5Aget_space(attribute.get()), name));
    ReadTexts read(memory.get(), space.get(), 1);
    check_h5(H5Aread(attribute.get(), memory.get(), read.texts.data()), name);
    return text_or_empty(read.texts[0]);
  }
  std::string text(H5Tget_size(type.get()), '\0');
  check_h5(H5Aread(attribute.get(), type.get(), text.data()), name);
  return text.c_str();
}

std::int64_t read_integer_attribute(hid_t object, const char* name) {
  const H5Attribute attribute(check_h5(H5Aopen(object, name, H5P_DEFAULT), name));
  std::int64_t value = 0;
  check_h5(H5Aread(attribute.get(), H5T_NATIVE_INT64, &value), name);
  return value;
}

void write_text_dataset(hid_t file, const char* name, std::string_view text) {
  const H5Type type = text_type(text.size());
  const H5Space space(check_h5(H5Screate(H5S_SCALAR), name));
  const H5Dataset dataset(check_h5(
      H5Dcreate2(file, name, type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
      name));
  check_h5(H5Dwrite(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, text.data()), name);
}

void write_texts(hid_t file, const char* name, const std::vector<std::string>& texts) {
  const H5Type type = variable_text_type();
  const H5Space space = row_space(texts.size());
  const H5List list(check_h5(H5Pcreate(H5P_DATASET_CREATE), name));
  const hsize_t chunk = std::min<hsize_t>(std::max<std::size_t>(texts.size(), 1), 65536);
  check_h5(H5Pset_chunk(list.get(), 1, &chunk), name);
  const H5Dataset dataset(check_h5(
      H5Dcreate2(file, name, type.get(), space.get(), H5P_DEFAULT, list.get(), H5P_DEFAULT), name));
  std::vector<const char*> pointers;
  pointers.reserve(texts.size());
  for (const std::string& text : texts) pointers.push_back(text.c_str());
  check_h5(H5Dwrite(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, pointers.data()),
           name);
}

std::vector<std::string> read_texts(hid_t file, const char* name) {
  const H5Dataset dataset(check_h5(H5Dopen2(file, name, H5P_DEFAULT), name));
  const H5Space space(check_h5(H5Dget_space(dataset.get()), name));
  const auto count = check_h5(H5Sget_simple_extent_npoints(space.get()), name);
  const H5Type memory = variable_text_type();
  ReadTexts read(memory.get(), space.get(), static_cast<std::size_t>(count));
  check_h5(H5Dread(dataset.get(), memory.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, read.texts.data()),
           name);
  std::vector<std::string> texts;
  texts.reserve(read.texts.size());
  for (const char* text : read.texts) texts.push_back(text_or_empty(text));
  return texts;
}

std::string read_one_text(hid_t file, const char* name, std::uint64_t row) {
  const H5Dataset dataset(check_h5(H5Dopen2(file, name, H5P_DEFAULT), name));
  const H5Space space(check_h5(H5Dget_space(dataset.get()), name));
  const hsize_t start = row, count = 1;
  check_h5(H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, &start, nullptr, &count, nullptr),
           name);
  const H5Space one = row_space(1);
  const H5Type memory = variable_text_type();
  ReadTexts read(memory.get(), one.get(), 1);
  check_h5(
      H5Dread(dataset.get(), memory.get(), one.get(), space.get(), H5P_DEFAULT, read.texts.data()),
      name);
  return text_or_empty(read.texts[0]);
}

}  // namespace batchsweep::results
