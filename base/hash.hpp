// SPDX-License-Identifier: Apache-2.0
// SHA-256 (identity of trials and files) and CRC-32 (frames of the journal), over OpenSSL and zlib.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace batchsweep {

using Sha256 = std::array<unsigned char, 32>;

[[nodiscard]] Sha256 sha256(std::string_view bytes);
// The first eight bytes, big endian: the number whose 16 hex digits start the usual text form.
[[nodiscard]] std::uint64_t sha256_prefix(std::string_view bytes);
// Of a file's content; throws IoError.
[[nodiscard]] Sha256 sha256_file(const std::string& path);
[[nodiscard]] std::string hex(const Sha256& digest);
[[nodiscard]] std::uint32_t crc32_of(std::string_view bytes);

}  // namespace batchsweep
