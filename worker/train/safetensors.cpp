// SPDX-License-Identifier: Apache-2.0
#include "worker/train/safetensors.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstring>
#include <memory>
#include <optional>

#include "base/error.hpp"
#include "base/json.hpp"
#include "base/mapped_file.hpp"
#include "worker/train/trial_errors.hpp"

namespace batchsweep::train {
namespace {

static_assert(std::endian::native == std::endian::little, "the format is little-endian");

struct Dtype {
  std::string_view name;
  at::ScalarType type;
};
constexpr std::array kDtypes{Dtype{"F64", at::kDouble}, Dtype{"F32", at::kFloat},
                             Dtype{"F16", at::kHalf},   Dtype{"BF16", at::kBFloat16},
                             Dtype{"I64", at::kLong},   Dtype{"I32", at::kInt},
                             Dtype{"I16", at::kShort},  Dtype{"I8", at::kChar},
                             Dtype{"U8", at::kByte},    Dtype{"BOOL", at::kBool}};

class Reader {
 public:
  explicit Reader(const std::string& path) : path_(path), file_(open(path)) {}

  std::map<std::string, at::Tensor> tensors() const {
    const auto bytes = file_->bytes();
    std::uint64_t length = 0;
    if (bytes.size() < sizeof length) fail("it holds less than a header's length");
    std::memcpy(&length, bytes.data(), sizeof length);
    if (length > bytes.size() - sizeof length) {
      fail(fmt::format("its header would be {} bytes, the whole file is {}", length, bytes.size()));
    }
    const auto* text = reinterpret_cast<const char*>(bytes.data()) + sizeof length;
    const Json header = Json::parse(text, text + length, nullptr, /*allow_exceptions=*/false);
    if (!header.is_object()) fail("its header is not JSON");
    const auto data = bytes.subspan(sizeof length + length);
    std::map<std::string, at::Tensor> tensors;
    for (const auto& [name, entry] : header.items()) {
      if (name != "__metadata__") tensors.emplace(name, tensor(name, entry, data));
    }
    return tensors;
  }

 private:
  static std::shared_ptr<const MappedFile> open(const std::string& path) {
    try {
      return std::make_shared<const MappedFile>(path);
    } catch (const IoError& error) {
      throw TrialFailed(error.what());
    }
  }
  [[noreturn]] void fail(const std::string& why) const {
    throw TrialFailed(fmt::format("{} is no whole safetensors file: {}", path_, why));
  }

  at::Tensor tensor(const std::string& name, const Json& entry, std::span<std::byte> data) const {
    std::string dtype;
    std::vector<std::int64_t> shape;
    std::array<std::uint64_t, 2> range{};
    try {
      dtype = entry.at("dtype").get<std::string>();
      shape = entry.at("shape").get<std::vector<std::int64_t>>();
      range = entry.at("data_offsets").get<std::array<std::uint64_t, 2>>();
    } catch (const Json::exception&) {
      fail(fmt::format("{} has no dtype, shape and data_offsets", name));
    }
    const at::ScalarType type = type_of(name, dtype);
    const std::optional<std::uint64_t> size = size_of(shape, c10::elementSize(type));
    if (range[0] > range[1] || range[1] > data.size()) {
      fail(fmt::format("{} would stand at bytes {} to {} of {}: the file is cut", name, range[0],
                       range[1], data.size()));
    }
    if (size != range[1] - range[0]) {
      fail(fmt::format("{} takes {} bytes, which are not those of its shape", name,
                       range[1] - range[0]));
    }
    return at::from_blob(
        data.data() + range[0], shape, [keep = file_](void*) {}, at::TensorOptions().dtype(type));
  }

  at::ScalarType type_of(const std::string& name, const std::string& dtype) const {
    for (const Dtype& known : kDtypes) {
      if (known.name == dtype) return known.type;
    }
    throw TrialFailed(
        fmt::format("{}: {} has the dtype {}, which is not known here: save it as "
                    "F32",
                    path_, name, dtype));
  }

  // Nothing: not a size that a file could have.
  static std::optional<std::uint64_t> size_of(const std::vector<std::int64_t>& shape,
                                              std::size_t element) {
    std::uint64_t size = element;
    for (const std::int64_t side : shape) {
      if (side < 0 || __builtin_mul_overflow(size, static_cast<std::uint64_t>(side), &size))
        return std::nullopt;
    }
    return size;
  }

  std::string path_;
  std::shared_ptr<const MappedFile> file_;
};

}  // namespace

std::map<std::string, at::Tensor> read_safetensors(const std::string& path) {
  return Reader(path).tensors();
}

}  // namespace batchsweep::train
