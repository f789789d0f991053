// SPDX-License-Identifier: Apache-2.0
#include "results/store/posix_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "base/error.hpp"
#include "base/text.hpp"

namespace batchsweep::results {
namespace {

std::string folder_of(const std::string& path) {
  const std::string parent = std::filesystem::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

}  // namespace

UniqueFd open_file(const std::string& path, int flags, unsigned mode) {
  UniqueFd fd(::open(path.c_str(), flags | O_CLOEXEC, mode));
  if (!fd)
    throw_errno((flags & O_CREAT) != 0 ? "cannot create " + path : "cannot open " + path, errno);
  return fd;
}

bool file_exists(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0) return true;
  if (errno != ENOENT && errno != ENOTDIR) throw_errno("cannot look at " + path, errno);
  return false;
}

std::uint64_t file_size(int fd, const std::string& path) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) throw_errno("cannot look at " + path, errno);
  return static_cast<std::uint64_t>(info.st_size);
}

std::string read_whole_file(const std::string& path) {
  const UniqueFd fd = open_file(path, O_RDONLY);
  std::string bytes(file_size(fd.get(), path), '\0');
  std::size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t n = ::read(fd.get(), bytes.data() + have, bytes.size() - have);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw_errno("cannot read " + path, errno);
    if (n == 0) break;
    have += static_cast<std::size_t>(n);
  }
  bytes.resize(have);
  return bytes;
}

void write_all(int fd, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == ENOSPC)
      throw IoError(
          fmt::format("cannot write {}: {}: make room there and run again, or name another "
                      "file with --results",
                      path, std::strerror(errno)));
    if (n < 0) throw_errno("cannot write " + path, errno);
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
}

void sync_file(int fd, const std::string& path) {
  if (::fsync(fd) != 0) throw_errno("cannot make " + path + " durable", errno);
}

void check_folder_of(const std::string& path) {
  const std::string folder = folder_of(path);
  if (::access(folder.c_str(), W_OK | X_OK) == 0) return;
  const int error = errno;
  const char* name_another = "name another file with --results";
  if (error == ENOENT)
    throw IoError(fmt::format("folder {}: no such folder: make it (mkdir -p {}), or {}", folder,
                              shell_word(folder), name_another));
  throw IoError(fmt::format("folder {}: takes no files ({}): {}", folder, std::strerror(error),
                            name_another));
}

void sync_folder_of(const std::string& path) {
  const std::string folder = folder_of(path);
  const UniqueFd fd = open_file(folder, O_RDONLY | O_DIRECTORY);
  // Some network file systems cannot sync a folder and say EINVAL: they order names themselves.
  if (::fsync(fd.get()) != 0 && errno != EINVAL)
    throw_errno("cannot make " + folder + " durable", errno);
}

void rename_file(const std::string& from, const std::string& to) {
  if (std::rename(from.c_str(), to.c_str()) != 0)
    throw_errno("cannot rename " + from + " to " + to, errno);
}

}  // namespace batchsweep::results
