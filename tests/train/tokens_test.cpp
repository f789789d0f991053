// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include <numeric>

#include "tests/train/data_support.hpp"

namespace batchsweep::train {
namespace {

using testing::HasSubstr;

std::string bytes_of(const std::vector<std::int32_t>& ids) {
  return {reinterpret_cast<const char*>(ids.data()), ids.size() * sizeof(std::int32_t)};
}

sweeps::TrialSpec tokens_spec(const std::string& model, const Scratch& files,
                              std::int64_t batch_size, std::int64_t length) {
  auto spec = spec_of(model, "tokens:" + files.path("ids"), batch_size);
  spec.sequence_length = length;
  return spec;
}

TEST(Tokens, GivesSequencesAndAsksForTheNextTokenOfEach) {
  const Scratch files;
  std::vector<std::int32_t> ids(10);  // two sequences of four, and a rest
  std::iota(ids.begin(), ids.end(), 100);
  files.write("ids", bytes_of(ids));
  const Batch batch = open(tokens_spec("gpt2", files, 2, 4))->next();
  const at::Tensor in_order = std::get<0>(batch.input.sort(0));
  EXPECT_TRUE(at::equal(in_order, at::arange(100, 108, at::kLong).view({2, 4}))) << in_order;
  EXPECT_TRUE(at::equal(batch.target.slice(1, 0, 3), batch.input.slice(1, 1, 4)));
  EXPECT_TRUE(batch.target.select(1, 3).eq(kIgnored).all().item<bool>());
  EXPECT_EQ(batch.samples, 2);
  EXPECT_EQ(batch.tokens, 8);
}

TEST(Tokens, HidesSomeForModelsThatFillIn) {
  const Scratch files;
  files.write("ids", bytes_of(std::vector<std::int32_t>(64, 2000)));
  const Batch batch = open(tokens_spec("bert-tiny", files, 1, 64))->next();
  const at::Tensor asked = batch.target.ne(kIgnored);
  EXPECT_TRUE(asked.any().item<bool>());
  EXPECT_TRUE(batch.target.masked_select(asked).eq(2000).all().item<bool>());
}

TEST(Tokens, SaysWhichTokenIsNoneOfTheModels) {
  const Scratch files;
  std::vector<std::int32_t> ids(16, 7);
  ids[11] = 50257;
  files.write("ids", bytes_of(ids));
  EXPECT_THAT(message_of(tokens_spec("gpt2", files, 2, 8), 1),
              testing::AllOf(HasSubstr("the token at position 11 of tokens:"),
                             HasSubstr("is 50257, and gpt2 knows 0 to 50256")));
  ids[11] = -1;
  files.write("ids", bytes_of(ids));
  EXPECT_THAT(message_of(tokens_spec("gpt2", files, 2, 8), 1), HasSubstr("position 11"));
  ids[11] = 50256;
  files.write("ids", bytes_of(ids));
  EXPECT_EQ(message_of(tokens_spec("gpt2", files, 2, 8), 1), "");
}

TEST(Tokens, SaysWhatIsWrongWithTheFile) {
  const Scratch files;
  files.write("ids", "12345");
  EXPECT_THAT(message_of(tokens_spec("gpt2", files, 1, 1)),
              HasSubstr("has 5 bytes, no multiple of 4"));
  files.write("ids", bytes_of(std::vector<std::int32_t>(7, 1)));
  EXPECT_THAT(message_of(tokens_spec("gpt2", files, 1, 8)),
              HasSubstr("holds 7 tokens, fewer than one sequence of 8"));
  files.write("ids", "");
  EXPECT_THAT(message_of(tokens_spec("gpt2", files, 1, 8)), HasSubstr("holds 0 tokens"));
  files.write("ids", bytes_of(std::vector<std::int32_t>(16, 1)));
  EXPECT_THAT(message_of(tokens_spec("gpt2", files, 3, 8)),
              HasSubstr("batch size 3 is more than all 2 samples"));
  EXPECT_THAT(message_of(tokens_spec("lenet", files, 1, 8)),
              HasSubstr("lenet is no model of language"));
  EXPECT_THAT(message_of(spec_of("gpt2", "tokens:/no/such/file", 1)),
              HasSubstr("cannot read /no/such/file"));
  auto classes = tokens_spec("bert-tiny", files, 1, 8);
  classes.model_head = "classify";
  EXPECT_THAT(message_of(classes, 1), HasSubstr("text says nothing of classes"));
}

}  // namespace
}  // namespace batchsweep::train
