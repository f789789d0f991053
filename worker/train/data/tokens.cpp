// SPDX-License-Identifier: Apache-2.0
// tokens:FILE: the ids that a tokenizer gave, 32-bit little-endian integers behind each other. Read
// as they are needed: a file may be larger than the memory.
#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "base/error.hpp"
#include "base/mapped_file.hpp"
#include "sweeps/trial_defaults.hpp"
#include "worker/train/data/data_source.hpp"
#include "worker/train/data/token_sequences.hpp"
#include "worker/train/trial_errors.hpp"

namespace batchsweep::train {
namespace {

constexpr std::string_view kPrefix = "tokens:";
using Id = std::int32_t;
static_assert(std::endian::native == std::endian::little, "ids are read as they lie in the file");

class MappedTokens final : public TokenStore {
 public:
  MappedTokens(const sweeps::TrialSpec& spec, std::int64_t vocabulary)
      : file_(spec.data.substr(kPrefix.size())),
        what_(spec.data),
        model_(spec.model),
        vocabulary_(vocabulary) {
    if (file_.bytes().size() % sizeof(Id) != 0) {
      throw TrialFailed(
          fmt::format("{} has {} bytes, no multiple of 4: it is cut, or not int32 (numpy: "
                      "ids.astype(\"<i4\").tofile(...))",
                      what_, file_.bytes().size()));
    }
    file_.expect_random_access();
  }

  std::int64_t size() const override {
    return static_cast<std::int64_t>(file_.bytes().size() / sizeof(Id));
  }
  void read(std::int64_t from, std::span<std::int64_t> into) const override {
    const std::byte* next = file_.bytes().data() + static_cast<std::size_t>(from) * sizeof(Id);
    for (std::size_t i = 0; i < into.size(); ++i, next += sizeof(Id)) {
      Id id = 0;
      std::memcpy(&id, next, sizeof id);
      if (id < 0 || id >= vocabulary_) refuse(from + static_cast<std::int64_t>(i), id);
      into[i] = id;
    }
  }

 private:
  [[noreturn]] void refuse(std::int64_t position, Id id) const {
    throw TrialFailed(fmt::format(
        "the token at position {} of {} is {}, and {} knows 0 to {}: the file was made by another "
        "tokenizer, or does not hold int32",
        position, what_, id, model_, vocabulary_ - 1));
  }

  MappedFile file_;
  std::string what_, model_;
  std::int64_t vocabulary_;
};

}  // namespace

std::unique_ptr<DataSource> open_tokens(const DataRequest& request) {
  check_takes_text(request);
  const std::int64_t vocabulary = sweeps::model_of(request.spec)->vocabulary;
  try {
    return open_sequences(request, std::make_unique<MappedTokens>(request.spec, vocabulary));
  } catch (const IoError& error) {
    throw TrialFailed(error.what());
  }
}

}  // namespace batchsweep::train
