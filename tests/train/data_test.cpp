// SPDX-License-Identifier: Apache-2.0
#include "worker/train/data/data_source.hpp"

#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include <cstdio>
#include <fstream>
#include <set>

#include "tests/train/data_support.hpp"
#include "worker/train/data/masked_tokens.hpp"
#include "worker/train/data/sample_order.hpp"

namespace batchsweep::train {
namespace {

class TextFile {
 public:
  explicit TextFile(const std::string& text)
      : path_(testing::TempDir() + "batchsweep_data_test.txt") {
    std::ofstream(path_) << text;
  }
  ~TextFile() { std::remove(path_.c_str()); }
  [[nodiscard]] std::string data() const { return "text:" + path_; }

 private:
  std::string path_;
};

TEST(SampleOrder, EveryEpochHoldsEverySampleOnceInAnotherOrder) {
  SampleOrder order(100, {.batch_size = 10}, 1, "test");
  std::vector<std::int64_t> first, second;
  for (int i = 0; i < 100; ++i) first.push_back(order.next().sample);
  for (int i = 0; i < 100; ++i) second.push_back(order.next().sample);
  EXPECT_EQ(std::set(first.begin(), first.end()).size(), 100u);
  EXPECT_EQ(std::set(second.begin(), second.end()).size(), 100u);
  EXPECT_NE(first, second);
  EXPECT_EQ(order.next().number, 200);
}

TEST(SampleOrder, FollowsFromTheSeedAloneAndNotFromTheBatchSize) {
  SampleOrder small(100, {.batch_size = 1}, 7, "test"), large(100, {.batch_size = 50}, 7, "test"),
      other(100, {.batch_size = 1}, 8, "test");
  std::vector<std::int64_t> a, b, c;
  for (int i = 0; i < 150; ++i) {
    a.push_back(small.next().sample);
    b.push_back(large.next().sample);
    c.push_back(other.next().sample);
  }
  EXPECT_EQ(a, b);
  EXPECT_NE(a, c);
}

TEST(HideTokens, HidesFifteenPercentAndShowsEightyPercentOfTheseAsMask) {
  constexpr std::size_t kTokens = 100'000;
  std::vector<std::int64_t> tokens(kTokens, 1065), targets(kTokens);
  hide_tokens(tokens, targets, 30522, 1);
  double hidden = 0, masked = 0, kept = 0;
  for (std::size_t i = 0; i < kTokens; ++i) {
    if (targets[i] == kIgnored) {
      EXPECT_EQ(tokens[i], 1065);
      continue;
    }
    EXPECT_EQ(targets[i], 1065);
    ++hidden;
    masked += tokens[i] == kMaskToken;
    kept += tokens[i] == 1065;
  }
  EXPECT_NEAR(hidden / kTokens, 0.15, 0.01);
  EXPECT_NEAR(masked / hidden, 0.8, 0.02);
  EXPECT_NEAR(kept / hidden, 0.1, 0.02);
}

TEST(HideTokens, AlwaysAsksForAtLeastOne) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    std::vector<std::int64_t> tokens{1065, 1066}, targets(2);
    hide_tokens(tokens, targets, 30522, seed);
    EXPECT_NE(targets, (std::vector<std::int64_t>{kIgnored, kIgnored}));
  }
}

TEST(FashionMnist, GivesScaledImagesOfTheModelsChannelsAndTrueLabels) {
  const Batch grey = open(spec_of("lenet", "fashion-mnist", 2000))->next();
  EXPECT_EQ(grey.input.sizes(), at::IntArrayRef({2000, 1, 28, 28}));
  EXPECT_NEAR(grey.input.mean().item<double>(), 0, 0.03);
  EXPECT_NEAR(grey.input.std().item<double>(), 1, 0.03);
  EXPECT_EQ(grey.target.min().item<std::int64_t>(), 0);
  EXPECT_EQ(grey.target.max().item<std::int64_t>(), 9);
  EXPECT_EQ(grey.samples, 2000);

  const Batch color = open(spec_of("resnet18", "fashion-mnist", 20))->next();
  EXPECT_EQ(color.input.sizes(), at::IntArrayRef({20, 3, 28, 28}));
  EXPECT_TRUE(at::equal(color.input.select(1, 2),
                        grey.input.slice(0, 0, 20).select(1, 0)));  // same seed, same order
}

TEST(FashionMnist, ResizesWhereAnotherSizeIsAskedFor) {
  auto spec = spec_of("resnet18", "fashion-mnist", 4);
  spec.image_height = 40;
  spec.image_width = 64;
  EXPECT_EQ(open(spec)->next().input.sizes(), at::IntArrayRef({4, 3, 40, 64}));
}

TEST(Text, MakesEachByteATokenAndLeavesTheRestOut) {
  const TextFile file("abcdefghXY");  // two sequences of four, and a rest
  auto spec = spec_of("bert-tiny", file.data(), 2);
  spec.sequence_length = 4;
  const Batch batch = open(spec)->next();
  const at::Tensor tokens =
      at::where(batch.target == kIgnored, batch.input, batch.target);  // as if none were hidden
  const at::Tensor in_order = std::get<0>(tokens.sort(0));
  EXPECT_TRUE(at::equal(in_order, at::arange(8, at::kLong).view({2, 4}) + kFirstByteToken + 'a'))
      << in_order;
  EXPECT_EQ(batch.tokens, 8);
}

TEST(Text, HidesTheSameTokensHoweverSamplesAreCutIntoBatches) {
  const TextFile file(std::string(64, 'a') + std::string(64, 'b') + std::string(64, 'c') +
                      std::string(64, 'd'));
  auto whole = spec_of("bert-tiny", file.data(), 4), half = spec_of("bert-tiny", file.data(), 2);
  whole.sequence_length = half.sequence_length = 64;
  const Batch once = open(whole)->next();
  const auto halves = open(half);
  const Batch first = halves->next(), second = halves->next();
  EXPECT_TRUE(at::equal(once.input, at::cat({first.input, second.input})));
  EXPECT_TRUE(at::equal(once.target, at::cat({first.target, second.target})));
}

TEST(Synthetic, GivesTheSameResidentBatchAgain) {
  const auto data = open(spec_of("resnet18", "synthetic", 2));
  const Batch first = data->next(), second = data->next();
  EXPECT_EQ(first.input.data_ptr(), second.input.data_ptr());
  EXPECT_EQ(first.input.sizes(), at::IntArrayRef({2, 3, 224, 224}));
  EXPECT_EQ(open(spec_of("bert-tiny", "synthetic", 3))->next().input.sizes(),
            at::IntArrayRef({3, 128}));
}

TEST(Synthetic, AsksForAsManyTokensInEachSequence) {
  const Batch batch = open(spec_of("bert-tiny", "synthetic", 4))->next();
  const at::Tensor asked = batch.target.ne(kIgnored).sum(1);
  EXPECT_TRUE(asked.eq(19).all().item<bool>()) << asked;  // 15 % of 128
}

// Batches of the ranks behind each other, over more than one epoch.
void expect_that_ranks_see_what_one_would(sweeps::TrialSpec spec, int batches) {
  constexpr std::int64_t kRanks = 4;
  const auto whole = open(spec);
  spec.batch_size /= kRanks;
  spec.world_size = kRanks;
  std::vector<std::unique_ptr<DataSource>> ranks;
  for (std::int64_t rank = 0; rank < kRanks; ++rank) ranks.push_back(open_rank(spec, rank));
  for (int i = 0; i < batches; ++i) {
    const Batch expected = whole->next();
    std::vector<at::Tensor> inputs, targets;
    for (const auto& rank : ranks) {
      const Batch batch = rank->next();
      EXPECT_EQ(batch.samples, spec.batch_size);
      inputs.push_back(batch.input);
      targets.push_back(batch.target);
    }
    EXPECT_TRUE(at::equal(at::cat(inputs), expected.input)) << spec.data << " batch " << i;
    EXPECT_TRUE(at::equal(at::cat(targets), expected.target)) << spec.data << " batch " << i;
  }
}

TEST(Data, RanksSeeTogetherWhatOneRankWouldSee) {
  const TextFile text(std::string(200, 'a') + std::string(200, 'b') + std::string(40, 'c'));
  auto of_text = spec_of("bert-tiny", text.data(), 8);
  of_text.sequence_length = 32;  // 13 sequences
  expect_that_ranks_see_what_one_would(of_text, 5);
  expect_that_ranks_see_what_one_would(spec_of("lenet", "fashion-mnist", 8), 3);
  for (const char* model : {"lenet", "bert-tiny", "gpt2", "transformer_big"})
    expect_that_ranks_see_what_one_would(spec_of(model, "synthetic", 8), 2);
}

TEST(Data, AllRanksTogetherMayTakeNoMoreThanThereIs) {
  auto spec = spec_of("lenet", "fashion-mnist", 30'000);
  spec.world_size = 2;
  EXPECT_EQ(message_of(spec), "");
  spec.world_size = 4;
  EXPECT_THAT(message_of(spec),
              testing::HasSubstr("batch size 120000 is more than all 60000 samples"));
}

TEST(Data, SaysWhatIsWrongAndWhatToDo) {
  using testing::HasSubstr;
  EXPECT_THAT(message_of(spec_of("lenet", "fashion-mnist", 60'001)),
              HasSubstr("batch size 60001 is more than all 60000 samples of fashion-mnist"));
  EXPECT_THAT(message_of(spec_of("bert-tiny", "text:/no/such/file", 1)),
              HasSubstr("cannot read the text /no/such/file"));
  EXPECT_THAT(message_of(spec_of("bert-tiny", "fashion-mnist", 1)),
              HasSubstr("bert-tiny is no model of images"));
  EXPECT_THAT(message_of(spec_of("lenet", "text:/etc/hostname", 1)),
              HasSubstr("lenet is no model of language"));
  EXPECT_THAT(message_of(spec_of("lenet", "imagenet", 1)), HasSubstr("no data 'imagenet'"));
  setenv("BATCHSWEEP_DATA", "/no/such/folder", 1);
  EXPECT_THAT(message_of(spec_of("lenet", "fashion-mnist", 1)), HasSubstr("dataset-fashion-mnist"));
  unsetenv("BATCHSWEEP_DATA");
}

}  // namespace
}  // namespace batchsweep::train
