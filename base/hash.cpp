// SPDX-License-Identifier: Apache-2.0
#include "base/hash.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <zlib.h>

#include <cerrno>
#include <cstdio>
#include <memory>

#include "base/check.hpp"
#include "base/error.hpp"

namespace batchsweep {
namespace {

// One context for the life of the process: fetching the algorithm anew costs more than a short text's digest.
class Digest {
 public:
  Digest() : algorithm_(EVP_MD_fetch(nullptr, "SHA256", nullptr)), context_(EVP_MD_CTX_new()) {
    BATCHSWEEP_ASSERT(algorithm_ != nullptr && context_ != nullptr);
  }
  ~Digest() {
    EVP_MD_CTX_free(context_);
    EVP_MD_free(algorithm_);
  }
  Digest(const Digest&) = delete;
  Digest& operator=(const Digest&) = delete;

  void start() { BATCHSWEEP_ASSERT(EVP_DigestInit_ex2(context_, algorithm_, nullptr) == 1); }
  void add(const void* data, std::size_t size) { BATCHSWEEP_ASSERT(EVP_DigestUpdate(context_, data, size) == 1); }
  [[nodiscard]] Sha256 finish() {
    Sha256 digest{};
    BATCHSWEEP_ASSERT(EVP_DigestFinal_ex(context_, digest.data(), nullptr) == 1);
    return digest;
  }

 private:
  EVP_MD* algorithm_;
  EVP_MD_CTX* context_;
};

Digest& shared_digest() {
  static Digest digest;
  return digest;
}

}  // namespace

Sha256 sha256(std::string_view bytes) {
  Digest& digest = shared_digest();
  digest.start();
  digest.add(bytes.data(), bytes.size());
  return digest.finish();
}

std::uint64_t sha256_prefix(std::string_view bytes) {
  const Sha256 digest = sha256(bytes);
  std::uint64_t prefix = 0;
  for (std::size_t i = 0; i < 8; ++i) prefix = prefix << 8U | digest[i];
  return prefix;
}

Sha256 sha256_file(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
  if (!file) throw_errno("cannot read " + path, errno);
  Digest& digest = shared_digest();
  digest.start();
  std::array<char, 65536> block{};
  while (const std::size_t n = std::fread(block.data(), 1, block.size(), file.get())) digest.add(block.data(), n);
  if (std::ferror(file.get()) != 0) throw_errno("cannot read " + path, errno);
  return digest.finish();
}

std::string hex(const Sha256& digest) {
  std::string text;
  for (const unsigned char byte : digest) text += fmt::format("{:02x}", byte);
  return text;
}

std::uint32_t crc32_of(std::string_view bytes) {
  return static_cast<std::uint32_t>(::crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

}  // namespace batchsweep
