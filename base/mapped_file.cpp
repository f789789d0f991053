// SPDX-License-Identifier: Apache-2.0
#include "base/mapped_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.hpp"

namespace batchsweep {
namespace {

[[noreturn]] void fail(const std::string& path) {
  throw IoError(fmt::format("cannot read {}: {}", path, std::strerror(errno)));
}

}  // namespace

MappedFile::MappedFile(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) fail(path);
  struct stat status {};
  const bool known = fstat(file, &status) == 0;
  const auto size = static_cast<std::size_t>(status.st_size);
  void* begin = nullptr;  // nothing can be mapped of an empty file
  // No reserve: few pages are ever written, and the file may be larger than the memory.
  constexpr int kFlags = MAP_PRIVATE | MAP_NORESERVE;
  if (known && size > 0) begin = mmap(nullptr, size, PROT_READ | PROT_WRITE, kFlags, file, 0);
  const int reason = errno;
  close(file);
  errno = reason;
  if (!known || begin == MAP_FAILED) fail(path);
  bytes_ = {static_cast<std::byte*>(begin), size};
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) munmap(bytes_.data(), bytes_.size());
}

void MappedFile::expect_random_access() const {
  // Advice: a file system that takes none is slower, not wrong.
  if (!bytes_.empty()) (void)madvise(bytes_.data(), bytes_.size(), MADV_RANDOM);
}

}  // namespace batchsweep
