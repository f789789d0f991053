// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include "base/json.hpp"
#include "tests/train/data_support.hpp"

namespace batchsweep::train {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string name_of(at::ScalarType type) {
  if (type == at::kFloat) return "F32";
  if (type == at::kDouble) return "F64";
  return type == at::kInt ? "I32" : "I64";
}

// A safetensors file of these tensors.
void write(const Scratch& files, const std::vector<std::pair<std::string, at::Tensor>>& tensors) {
  Json header = Json::object();
  std::string data;
  for (const auto& [name, tensor] : tensors) {
    const std::size_t from = data.size();
    const at::Tensor whole = tensor.contiguous();
    data.append(static_cast<const char*>(whole.data_ptr()), whole.nbytes());
    header[name] = {{"dtype", name_of(tensor.scalar_type())},
                    {"shape", tensor.sizes().vec()},
                    {"data_offsets", {from, data.size()}}};
  }
  const std::string text = header.dump();
  const std::uint64_t length = text.size();
  files.write("t.safetensors",
              std::string(reinterpret_cast<const char*>(&length), sizeof length) + text + data);
}

sweeps::TrialSpec tensors_spec(const Scratch& files, const std::string& model,
                               std::int64_t batch_size) {
  auto spec = spec_of(model, "tensors:" + files.path("t.safetensors"), batch_size);
  if (sweeps::model_of(spec) != nullptr && sweeps::model_of(spec)->domain == sweeps::Domain::kText)
    spec.sequence_length = 4;
  return spec;
}

TEST(Tensors, GivesImagesAndTheirClassesInAnOrderOfTheSeed) {
  const Scratch files;
  const at::Tensor x = at::arange(6).view({6, 1, 1, 1}).expand({6, 1, 28, 28}).to(at::kFloat);
  write(files, {{"x", x}, {"y", at::arange(6, at::kLong)}});
  const auto data = open(tensors_spec(files, "lenet", 3));
  const Batch a = data->next(), b = data->next();
  EXPECT_EQ(a.input.sizes(), at::IntArrayRef({3, 1, 28, 28}));
  const at::Tensor both = at::cat({a.target, b.target});
  EXPECT_TRUE(at::equal(at::cat({a.input, b.input}).select(3, 0).select(2, 0).select(1, 0),
                        both.to(at::kFloat)));
  EXPECT_TRUE(at::equal(std::get<0>(both.sort()), at::arange(6, at::kLong)));
  EXPECT_EQ(a.samples, 3);
  EXPECT_EQ(a.tokens, 0);
}

TEST(Tensors, GivesTokensWithWhatTheHeadAsksFor) {
  const Scratch files;
  const at::Tensor x = at::full({5, 4}, 1000, at::kInt);
  write(files, {{"x", x}, {"y", at::tensor({0, 3}, at::kLong).expand({5, 2})}});
  auto spec = tensors_spec(files, "bert-tiny", 5);
  spec.model_head = "qa";
  const Batch answers = open(spec)->next();
  EXPECT_EQ(answers.input.scalar_type(), at::kLong);
  EXPECT_EQ(answers.target.sizes(), at::IntArrayRef({5, 2}));
  EXPECT_EQ(answers.tokens, 20);

  write(files, {{"x", x}, {"y", at::full({5, 4}, kIgnored, at::kLong)}});
  EXPECT_EQ(message_of(tensors_spec(files, "bert-tiny", 5), 1), "");
  EXPECT_THAT(message_of(spec), HasSubstr("y is [N, 4], this trial takes [N, 2]"));
}

TEST(Tensors, ServesScriptsAsTheyAre) {
  const Scratch files;
  write(files, {{"x", at::ones({3, 2, 5})}, {"y", at::zeros({3}, at::kLong)}});
  auto spec = spec_of("mine", "tensors:" + files.path("t.safetensors"), 2);
  spec.model_source = "script:net.pt";
  spec.num_classes = 2;
  EXPECT_EQ(open(spec)->next().input.sizes(), at::IntArrayRef({2, 2, 5}));
}

TEST(Tensors, SaysWhatDoesNotFitTheModel) {
  const Scratch files;
  const at::Tensor x = at::ones({3, 1, 28, 28}), y = at::zeros({3}, at::kLong);
  const auto lenet = [&](const at::Tensor& with_x, const at::Tensor& with_y) {
    write(files, {{"x", with_x}, {"y", with_y}});
    return message_of(tensors_spec(files, "lenet", 3), 1);
  };
  EXPECT_EQ(lenet(x, y), "");
  EXPECT_THAT(lenet(x.to(at::kDouble), y), HasSubstr("x holds Double, expected float32"));
  EXPECT_THAT(lenet(x, y.to(at::kInt)), HasSubstr("y holds Int, expected int64"));
  EXPECT_THAT(
      lenet(at::ones({3, 3, 28, 28}), y),
      HasSubstr("x is [N, 3, 28, 28], this trial takes [N, 1, 28, 28] (image_size decides)"));
  EXPECT_THAT(lenet(x, at::zeros({2}, at::kLong)), HasSubstr("the same number of samples"));
  EXPECT_THAT(lenet(x, at::tensor({0, 10, 0}, at::kLong)),
              HasSubstr("y of sample 1 holds 10, and the classes of lenet go from 0 to 9"));
  EXPECT_THAT(lenet(x, at::tensor({0, 0, -100}, at::kLong)), HasSubstr("y of sample 2 holds -100"));

  write(files, {{"input", x}, {"y", y}});
  EXPECT_THAT(message_of(tensors_spec(files, "lenet", 3)),
              AllOf(HasSubstr("holds no x"), HasSubstr("found input, y")));
  write(files, {{"x", x}, {"y", y}});
  EXPECT_THAT(message_of(tensors_spec(files, "lenet", 4)),
              HasSubstr("batch size 4 is more than all 3 samples"));
  write(files, {{"x", at::full({1, 4}, 30522, at::kLong)}, {"y", at::zeros({1, 4}, at::kLong)}});
  EXPECT_THAT(
      message_of(tensors_spec(files, "bert-tiny", 1), 1),
      HasSubstr("x of sample 0 holds 30522, and the tokens of bert-tiny go from 0 to 30521"));
  EXPECT_THAT(message_of(spec_of("lenet", "tensors:/no/such.safetensors", 1)),
              HasSubstr("/no/such.safetensors"));
}

}  // namespace
}  // namespace batchsweep::train
