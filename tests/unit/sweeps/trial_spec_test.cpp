// SPDX-License-Identifier: Apache-2.0
#include "sweeps/trial_spec.hpp"

#include <gtest/gtest.h>

#include "sweeps/trial_defaults.hpp"
#include "sweeps/trial_spec_json.hpp"

namespace batchsweep::sweeps {
namespace {

TrialSpec full_spec() {
  TrialSpec spec;
  spec.origin = Origin::kRehearsed;
  spec.gpu = "cpu";
  spec.model = "mine";
  spec.precision = "bf16";
  spec.batch_size = 16;
  spec.world_size = 2;
  spec.gradient_accumulation_steps = 4;
  spec.num_nodes = "2";
  spec.placement = "each-node";
  spec.pinned_to = "n1";
  spec.model_source = "bert-tiny";
  spec.model_head = "mlm";
  spec.model_weights = "w.safetensors";
  spec.loss = "cross_entropy";
  spec.data = "text:/data/t";
  spec.data_hash = "ab";
  spec.image_height = 28;
  spec.image_width = 32;
  spec.num_classes = 10;
  spec.sequence_length = 64;
  spec.dropout = 0.2;
  spec.optimizer = "adam";
  spec.learning_rate = 0.001;
  spec.momentum = 0.5;
  spec.weight_decay = 0.1;
  spec.schedule = "cosine";
  spec.clip_grad_norm = 1.5;
  spec.memory_format = "channels_last";
  spec.activation_checkpointing = true;
  spec.cudnn_benchmark = true;
  spec.attention = "math";
  spec.warmup_steps = 1;
  spec.timed_steps = 2;
  spec.min_time_s = 3;
  spec.seed = 18446744073709551615ULL;
  spec.runtime = "other";
  spec.env = {{"A", "1"}};
  return spec;
}

TEST(TrialSpecJson, ASpecAtItsDefaultsIsAnEmptyObject) {
  EXPECT_EQ(dump(to_json(TrialSpec{})), "{}");
}

TEST(TrialSpecJson, EveryMemberComesBack) {
  const Json json = Json::parse(dump(to_json(full_spec())));
  EXPECT_EQ(json.size(), 37U)
      << "one key a member: a new member belongs into the list and into this test";
  EXPECT_EQ(trial_spec_from_json(json), full_spec());
}

TEST(TrialSpecJson, KeysOfANewerProgramAreIgnored) {
  EXPECT_EQ(
      trial_spec_from_json(Json::parse(R"({"batch_size": 8, "not_yet_known": [1]})")).batch_size,
      8);
}

TEST(TrialId, IsSixteenHexDigitsBothWays) {
  EXPECT_EQ(to_text(TrialId{0x0123456789abcdefULL}), "0123456789abcdef");
  EXPECT_EQ(parse_trial_id("0123456789abcdef"), TrialId{0x0123456789abcdefULL});
  for (const char* bad :
       {"", "0123456789abcde", "0123456789ABCDEF", "0123456789abcdeg", "0123456789abcdef0"}) {
    EXPECT_EQ(parse_trial_id(bad), std::nullopt) << bad;
  }
}

TEST(TrialSeed, DependsOnSweepSeedModelDataAndRepeatOnly) {
  TrialSpec spec;
  spec.model = spec.model_source = "resnet18";
  spec.batch_size = 8;
  const std::uint64_t seed = trial_seed(spec, 0);
  EXPECT_EQ(seed, 12564765117471469647ULL);  // recorded rows carry it: must never change

  TrialSpec other = spec;
  other.batch_size = 4;
  other.world_size = 2;
  other.precision = "bf16";
  other.model = "an alias";
  EXPECT_EQ(trial_seed(other, 0), seed);
  EXPECT_NE(trial_seed(spec, 1), seed);
  other = spec;
  other.seed = 2;
  EXPECT_NE(trial_seed(other, 0), seed);
  other = spec;
  other.data = "fashion-mnist";
  EXPECT_NE(trial_seed(other, 0), seed);
}

TEST(TrialSeed, KnowsDataFilesByContentNotByPath) {
  TrialSpec here, there;
  here.model = there.model = "bert-tiny";
  here.data = "text:/here/t.txt";
  there.data = "text:/there/other.txt";
  here.data_hash = there.data_hash = "00ff";
  EXPECT_EQ(trial_seed(here, 0), trial_seed(there, 0));
  there.data_hash = "00fe";
  EXPECT_NE(trial_seed(here, 0), trial_seed(there, 0));
}

TEST(TrialDefaults, DependOnTheModelsDomainAndTheData) {
  TrialSpec image, text;
  image.model = "resnet18";
  text.model = "bert-tiny";
  const TrialSpec full_image = with_defaults(image), full_text = with_defaults(text);
  EXPECT_EQ(full_image.optimizer, "sgd");
  EXPECT_EQ(full_image.learning_rate, 0.01);
  EXPECT_EQ(full_image.momentum, 0.9);
  EXPECT_EQ(full_image.weight_decay, 0.0);
  EXPECT_EQ(full_image.image_height, 224);
  EXPECT_EQ(full_image.num_classes, 1000);
  EXPECT_EQ(full_image.sequence_length, std::nullopt);
  EXPECT_EQ(full_text.optimizer, "adamw");
  EXPECT_EQ(full_text.learning_rate, 1e-4);
  EXPECT_EQ(full_text.weight_decay, 0.01);
  EXPECT_EQ(full_text.image_height, std::nullopt);
  EXPECT_EQ(full_text.sequence_length, 128);
  EXPECT_EQ(full_text.dropout, 0.1);
  image.data = "fashion-mnist";
  EXPECT_EQ(with_defaults(image).image_width, 28);
  EXPECT_EQ(with_defaults(image).num_classes, 10);
}

}  // namespace
}  // namespace batchsweep::sweeps
