// SPDX-License-Identifier: Apache-2.0
#include "worker/train/data/jpeg_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/unique_handle.hpp"

namespace batchsweep::train {
namespace {

constexpr std::uint8_t kMarker = 0xFF, kStuffed = 0x00, kAlone = 0x01, kFirstRestart = 0xD0,
                       kLastRestart = 0xD7, kStart = 0xD8, kEnd = 0xD9, kScan = 0xDA;

bool has_no_length(std::uint8_t kind) {
  return kind == kStuffed || kind == kAlone || kind == kStart ||
         (kind >= kFirstRestart && kind <= kLastRestart);
}

}  // namespace

std::optional<std::string> read_bytes(const std::string& path, std::vector<std::uint8_t>& bytes) {
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat about {};
  if (!file || fstat(file.get(), &about) != 0) return std::strerror(errno);
  bytes.resize(static_cast<std::size_t>(about.st_size));
  std::size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t got = ::read(file.get(), bytes.data() + have, bytes.size() - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::strerror(errno);
    if (got == 0) break;
    have += static_cast<std::size_t>(got);
  }
  bytes.resize(have);
  if (bytes.empty()) return "it is empty";
  return std::nullopt;
}

bool has_end(std::span<const std::uint8_t> jpeg) {
  const std::uint8_t *at = jpeg.data(), *const end = at + jpeg.size();
  bool scanned = false;
  while (end - at >= 2) {
    at = static_cast<const std::uint8_t*>(
        std::memchr(at, kMarker, static_cast<std::size_t>(end - at)));
    if (at == nullptr || end - at < 2) return false;
    const std::uint8_t kind = at[1];
    if (kind == kMarker) {  // any number of these may stand before a marker
      ++at;
      continue;
    }
    at += 2;
    if (kind == kEnd) return scanned;
    if (has_no_length(kind)) continue;
    if (end - at < 2) return false;
    scanned = scanned || kind == kScan;
    const std::ptrdiff_t length = at[0] << 8 | at[1];
    if (length > end - at) return false;
    at += length;
  }
  return false;
}

}  // namespace batchsweep::train
