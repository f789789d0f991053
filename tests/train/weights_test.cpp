// SPDX-License-Identifier: Apache-2.0
// Weights from safetensors files, written here byte by byte as the format says.
#include "worker/train/weights.hpp"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <limits>

#include "base/json.hpp"
#include "worker/train/safetensors.hpp"
#include "worker/train/trial_errors.hpp"

namespace batchsweep::train {
namespace {

using testing::HasSubstr;

class File {
 public:
  explicit File(const std::string& bytes) { std::ofstream(path_, std::ios::binary) << bytes; }
  ~File() { std::remove(path_.c_str()); }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_ =
      testing::TempDir() + "weights_test." + std::to_string(getpid()) + ".safetensors";
};

std::string with_length(const std::string& header, const std::string& data) {
  std::uint64_t length = header.size();
  std::string bytes(reinterpret_cast<const char*>(&length), sizeof length);
  return bytes + header + data;
}

using Named = std::vector<std::pair<std::string, at::Tensor>>;

std::string safetensors(const Named& tensors) {
  Json header = Json::object();
  header["__metadata__"] = {{"format", "pt"}};
  std::string data;
  for (const auto& [name, tensor] : tensors) {
    const at::Tensor whole = tensor.contiguous();
    const std::size_t begin = data.size();
    data.append(static_cast<const char*>(whole.data_ptr()), whole.nbytes());
    header[name] = {{"dtype", tensor.scalar_type() == at::kLong ? "I64" : "F32"},
                    {"shape", tensor.sizes().vec()},
                    {"data_offsets", {begin, data.size()}}};
  }
  return with_length(header.dump(), data);
}

// One layer with a norm, as batch normalisation has it.
struct Small {
  Parameters parameters{ModelOptions{}};
  Small() {
    parameters.add("fc.weight", {2, 3}, Initial::kZeros);
    parameters.add("fc.bias", {2}, Initial::kZeros);
    parameters.add_buffer("norm.running_mean", {2}, Initial::kZeros);
    parameters.add_counter("norm.num_batches_tracked");
  }
  [[nodiscard]] at::Tensor weight() const { return parameters.trained()[0].tensor.detach(); }
};

Named whole() {
  return {{"fc.weight", at::arange(6, at::kFloat).view({2, 3})},
          {"fc.bias", at::ones({2})},
          {"norm.running_mean", at::full({2}, 0.5)},
          {"norm.num_batches_tracked", at::full({}, 7, at::kLong)}};
}

std::string refusal(const Small& model, const std::string& bytes,
                    Missing missing = Missing::kRefused) {
  const File file(bytes);
  try {
    load_weights(model.parameters, file.path(), missing);
  } catch (const TrialFailed& error) {
    return error.what();
  }
  return "";
}

TEST(Weights, FillParametersAndBuffersByName) {
  const Small model;
  const File file(safetensors(whole()));
  load_weights(model.parameters, file.path(), Missing::kRefused);
  EXPECT_TRUE(model.weight().equal(at::arange(6, at::kFloat).view({2, 3})));
  EXPECT_EQ(model.parameters.buffers()[0].tensor[1].item<float>(), 0.5);
  EXPECT_EQ(model.parameters.buffers()[1].tensor.item<std::int64_t>(), 7);
  EXPECT_TRUE(model.parameters.trained()[0].tensor.requires_grad());
}

TEST(Weights, BatchCountersMayBeAbsent) {
  Named old = whole();
  old.pop_back();
  EXPECT_EQ(refusal(Small(), safetensors(old)), "");
}

TEST(Weights, OfAnotherModelAreRefusedWithWhatDiffers) {
  Named other = whole();
  other[0].second = at::zeros({3, 3});
  other[1].first = "head.bias";
  const std::string message = refusal(Small(), safetensors(other));
  EXPECT_THAT(message, HasSubstr("it lacks fc.bias; the model has no head.bias; other shapes: "
                                 "fc.weight [3, 3], here [2, 3]"));
  EXPECT_THAT(message, HasSubstr("partial_weights = true"));
}

TEST(Weights, NothingIsChangedByARefusal) {
  const Small model;
  Named other = whole();
  other.emplace_back("more", at::zeros({1}));
  EXPECT_NE(refusal(model, safetensors(other)), "");
  EXPECT_TRUE(model.weight().equal(at::zeros({2, 3})));
}

TEST(Weights, PartialTakesWhatFits) {
  const Small model;
  const Named part{{"fc.weight", at::ones({2, 3})}, {"other", at::ones({1})}};
  EXPECT_EQ(refusal(model, safetensors(part), Missing::kAllowed), "");
  EXPECT_TRUE(model.weight().equal(at::ones({2, 3})));
}

TEST(Weights, PartialStillRefusesOtherShapesAndFilesOfWhichNothingFits) {
  EXPECT_THAT(refusal(Small(), safetensors({{"fc.bias", at::ones({4})}}), Missing::kAllowed),
              HasSubstr("fc.bias [4], here [2]"));
  EXPECT_THAT(refusal(Small(), safetensors({{"other", at::ones({1})}}), Missing::kAllowed),
              HasSubstr("the model has no tensor of this file"));
}

TEST(Weights, NotANumberIsRefused) {
  Named broken = whole();
  broken[0].second[1][2] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(refusal(Small(), safetensors(broken)),
              testing::EndsWith("do not fit this model: not finite: fc.weight"));
}

TEST(Weights, NamesThatFilesLeaveOutOrAddAreKnown) {
  Small model;
  model.parameters.ignore_in_files("fc.copy*");
  model.parameters.set_optional_prefix("fc.");
  Named published{{"weight", at::ones({2, 3})}, {"bias", at::ones({2})}, {"copy1", at::ones({9})}};
  EXPECT_THAT(refusal(model, safetensors(published)), HasSubstr("it lacks norm.running_mean"));
  EXPECT_EQ(refusal(model, safetensors(published), Missing::kAllowed), "");
  EXPECT_TRUE(model.weight().equal(at::ones({2, 3})));
}

TEST(Safetensors, DamagedFilesAreRefusedWithWhatIsWrong) {
  const std::string good = safetensors(whole());
  const Small model;
  const auto cut = [&](std::size_t bytes) { return refusal(model, good.substr(0, bytes)); };
  EXPECT_THAT(cut(0), HasSubstr("less than a header's length"));
  EXPECT_THAT(cut(7), HasSubstr("less than a header's length"));
  EXPECT_THAT(cut(100), HasSubstr("its header would be"));
  EXPECT_THAT(cut(good.size() - 1), HasSubstr("the file is cut"));
  EXPECT_THAT(refusal(model, with_length("[1, 2", "")), HasSubstr("its header is not JSON"));
  EXPECT_THAT(refusal(model, with_length(R"({"a": 1})", "")),
              HasSubstr("a has no dtype, shape and data_offsets"));
  EXPECT_THAT(
      refusal(model, with_length(R"({"a":{"dtype":"F8","shape":[1],"data_offsets":[0,1]}})", "x")),
      HasSubstr("a has the dtype F8"));
  EXPECT_THAT(
      refusal(model,
              with_length(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", "1234")),
      HasSubstr("a takes 4 bytes, which are not those of its shape"));
  EXPECT_THAT(
      refusal(
          model,
          with_length(
              R"({"a":{"dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,0]}})", "")),
      HasSubstr("not those of its shape"));
  EXPECT_THAT(refusal(model, std::string(8, '\xff')), HasSubstr("its header would be"));
}

TEST(Safetensors, AMissingFileIsNamed) {
  EXPECT_THROW(static_cast<void>(read_safetensors("/no/such.safetensors")), TrialFailed);
}

}  // namespace
}  // namespace batchsweep::train
