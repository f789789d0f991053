// SPDX-License-Identifier: Apache-2.0
#include "results/store/results_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <libdeflate.h>
#include <unistd.h>

#include <charconv>
#include <cstring>

#include "results/store/lock_file.hpp"
#include "results/store/posix_file.hpp"
#include "results/store/schema.hpp"

namespace batchsweep::results {
namespace {

constexpr std::size_t kSealBytes = 64;
constexpr std::string_view kSealMark = "\nbatchsweep-seal ";

std::uint32_t crc(std::uint32_t before, std::string_view bytes) {
  return libdeflate_crc32(before, bytes.data(), bytes.size());
}

std::string seal_text(std::uint32_t sum, std::uint64_t size) {
  return fmt::format("{:<{}}\n", fmt::format("{}{:08x} {}", kSealMark, sum, size), kSealBytes - 1);
}

// Bytes [at, at + size) of the file, fewer at its end.
std::string read_at(int fd, const std::string& path, std::uint64_t at, std::size_t size) {
  std::string bytes(size, '\0');
  const ssize_t n = ::pread(fd, bytes.data(), size, static_cast<off_t>(at));
  if (n < 0) throw_errno("cannot read " + path, errno);
  bytes.resize(static_cast<std::size_t>(n));
  return bytes;
}

std::uint32_t crc_of_file(int fd, const std::string& path, std::uint64_t size) {
  std::uint32_t sum = 0;
  for (std::uint64_t at = 0; at < size;) {
    const std::string piece = read_at(
        fd, path, at,
        static_cast<std::size_t>(std::min<std::uint64_t>(size - at, std::uint64_t{1} << 20)));
    if (piece.empty()) return ~sum;
    sum = crc(sum, piece);
    at += piece.size();
  }
  return sum;
}

void check_is_h5(const std::string& path) {
  const UniqueFd fd = open_file(path, O_RDONLY);
  if (file_size(fd.get(), path) == 0) throw_damaged(path, "it is empty (0 bytes)");
  start_h5();
  if (H5Fis_hdf5(path.c_str()) <= 0)
    throw ResultsFileError(
        path + ": not an HDF5 file (or its first bytes are damaged); it was not changed");
}

// An unsealed file is one that another program has written: then it ends where HDF5's data ends.
void check_length(const std::string& path, const H5File& file) {
  haddr_t end = 0;
  hsize_t size = 0;
  check_h5(H5Fget_eoa(file.get(), &end), "length");
  const UniqueFd fd = open_file(path, O_RDONLY);
  size = file_size(fd.get(), path);
  if (size > end && size < end + kSealBytes)
    throw_damaged(path, fmt::format("it was cut: {} of its last {} bytes are missing",
                                    end + kSealBytes - size, kSealBytes));
}

OpenedResults open_checked(const std::string& path, Seal seal) {
  OpenedResults opened;
  opened.file = open_h5(path);
  if (seal == Seal::kNone) check_length(path, opened.file);
  if (check_h5(H5Aexists(opened.file.get(), "schema_version"), "attributes") == 0) {
    throw ResultsFileError(
        path +
        ": not a results file of batchsweep: an HDF5 file without the attribute schema_version");
  }
  opened.schema_version = read_integer_attribute(opened.file.get(), "schema_version");
  if (opened.schema_version > kSchemaVersion) {
    throw ResultsFileError(fmt::format(
        "{}: schema {} is newer than this program's {}: read it with the batchsweep that wrote it",
        path, opened.schema_version, kSchemaVersion));
  }
  opened.file_id = read_text_attribute(opened.file.get(), "file_id");
  opened.origin = read_text_attribute(opened.file.get(), "origin");
  opened.sweep_name = read_text_attribute(opened.file.get(), "sweep_name");
  return opened;
}

}  // namespace

void throw_damaged(const std::string& path, std::string_view why) {
  throw ResultsFileError(
      fmt::format("{}: damaged: {}; nothing was read and it was not changed", path, why));
}

std::string seal_of(std::string_view content) { return seal_text(crc(0, content), content.size()); }

Seal check_seal(const std::string& path) {
  const UniqueFd fd = open_file(path, O_RDONLY);
  const std::uint64_t size = file_size(fd.get(), path);
  if (size < kSealBytes) return Seal::kNone;
  const std::string seal = read_at(fd.get(), path, size - kSealBytes, kSealBytes);
  if (!seal.starts_with(kSealMark)) return Seal::kNone;
  return seal == seal_text(crc_of_file(fd.get(), path, size - kSealBytes), size - kSealBytes)
             ? Seal::kRight
             : Seal::kWrong;
}

OpenedResults open_results(const std::string& path) {
  if (!file_exists(path)) {
    const LockView lock = look_at_lock(path);
    if (lock.state == LockState::kHeld)
      throw ResultsFileError(fmt::format("{}: not there yet: a sweep is running on it ({})", path,
                                         name_of(lock.holder)));
    const bool journal = file_exists(path + ".journal");
    throw ResultsFileError(
        path + ": no such file" +
        (journal ? "; a journal stands beside it: run the sweep again to rebuild it" : ""));
  }
  const Seal seal = check_seal(path);
  if (seal == Seal::kWrong) throw_damaged(path, "its content does not match its checksum");
  check_is_h5(path);
  return reading(path, [&] { return open_checked(path, seal); });
}

}  // namespace batchsweep::results
