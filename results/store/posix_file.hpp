// SPDX-License-Identifier: Apache-2.0
// The few file operations that must be done right for a record to survive: open, write all, sync,
// rename, sync of the folder. All throw IoError with the path and the system's words. Knows nothing
// of what is written.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/unique_handle.hpp"

namespace batchsweep::results {

[[nodiscard]] UniqueFd open_file(const std::string& path, int flags, unsigned mode = 0644);
[[nodiscard]] bool file_exists(const std::string& path);
[[nodiscard]] std::uint64_t file_size(int fd, const std::string& path);
[[nodiscard]] std::string read_whole_file(const std::string& path);
// All bytes or an exception; what was written before it failed stays.
// Where the disk is full the message says what to do.
void write_all(int fd, std::string_view bytes, const std::string& path);
void sync_file(int fd, const std::string& path);
// So that a new name survives a power cut.
void sync_folder_of(const std::string& path);
// Throws IoError where the folder that `path` stands in is missing or takes no files: which, why,
// what to do.
void check_folder_of(const std::string& path);
void rename_file(const std::string& from, const std::string& to);

}  // namespace batchsweep::results
