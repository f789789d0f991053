// SPDX-License-Identifier: Apache-2.0
// text:FILE: each byte is a token.
#include <fmt/format.h>

#include <fstream>

#include "worker/train/data/data_source.hpp"
#include "worker/train/data/masked_tokens.hpp"
#include "worker/train/data/token_sequences.hpp"
#include "worker/train/trial_errors.hpp"

namespace batchsweep::train {
namespace {

constexpr std::string_view kPrefix = "text:";

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file)
    throw TrialFailed(
        fmt::format("cannot read the text {}: is the path right on this host?", path));
  std::string text(static_cast<std::size_t>(file.tellg()), '\0');
  file.seekg(0);
  if (!file.read(text.data(), static_cast<std::streamsize>(text.size()))) {
    throw TrialFailed(fmt::format("cannot read the text {} to its end", path));
  }
  return text;
}

class BytesOfText final : public TokenStore {
 public:
  explicit BytesOfText(const std::string& path) : text_(read_text(path)) {}
  std::int64_t size() const override { return static_cast<std::int64_t>(text_.size()); }
  void read(std::int64_t from, std::span<std::int64_t> into) const override {
    const char* bytes = text_.data() + from;
    for (std::size_t i = 0; i < into.size(); ++i)
      into[i] = kFirstByteToken + static_cast<unsigned char>(bytes[i]);
  }

 private:
  std::string text_;
};

}  // namespace

std::unique_ptr<DataSource> open_text(const DataRequest& request) {
  check_takes_text(request);
  return open_sequences(request,
                        std::make_unique<BytesOfText>(request.spec.data.substr(kPrefix.size())));
}

}  // namespace batchsweep::train
