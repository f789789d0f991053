// SPDX-License-Identifier: Apache-2.0
// A file's bytes in memory, read when touched. Private: what is written into them stays in this
// process.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace batchsweep {

class MappedFile {
 public:
  // Throws IoError with the system's reason.
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  [[nodiscard]] std::span<std::byte> bytes() const { return bytes_; }
  // Pages will be touched in no order: reading ahead would be wasted.
  void expect_random_access() const;

 private:
  std::span<std::byte> bytes_;
};

}  // namespace batchsweep
