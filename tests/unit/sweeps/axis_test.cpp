// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "sweeps/axis_table.hpp"
#include "sweeps/grid.hpp"

namespace batchsweep::sweeps {
namespace {

TrialSpec spec() {
  TrialSpec spec;
  spec.gpu = "H100 80GB SXM";
  spec.model = spec.model_source = "resnet18";
  spec.batch_size = 64;
  spec.world_size = 2;
  return spec;
}

AxisMatch any_of(const std::string& axis, const std::vector<std::string>& patterns) {
  return {.axis = axis, .patterns = patterns, .from = {}, .to = {}};
}
AxisMatch between(const std::string& axis, std::optional<std::int64_t> from,
                  std::optional<std::int64_t> to) {
  return {.axis = axis, .patterns = {}, .from = from, .to = to};
}

std::string usage_error(const std::string& only) {
  try {
    (void)parse_only(only);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Axes, StandInTheirFixedOrder) {
  EXPECT_THAT(
      axis_names(),
      testing::ElementsAre(
          "gpu", "model", "precision", "activation_checkpointing", "attention", "clip_grad_norm",
          "cudnn_benchmark", "data", "dropout", "env", "gradient_accumulation_steps", "image_size",
          "learning_rate", "memory_format", "min_time", "momentum", "num_classes", "num_nodes",
          "optimizer", "placement", "runtime", "schedule", "sequence_length", "timed_steps",
          "warmup_steps", "weight_decay", "world_size", "global_batch_size", "batch_size"));
}

TEST(Axes, EveryAxisGivesBackWhatWasSet) {
  const std::map<std::string, std::string> values{{"gpu", "cpu"},
                                                  {"model", "lenet"},
                                                  {"precision", "bf16"},
                                                  {"activation_checkpointing", "true"},
                                                  {"attention", "math"},
                                                  {"clip_grad_norm", "1.5"},
                                                  {"cudnn_benchmark", "true"},
                                                  {"data", "fashion-mnist"},
                                                  {"dropout", "0.25"},
                                                  {"env", R"({"A":"1","B":"x y"})"},
                                                  {"gradient_accumulation_steps", "4"},
                                                  {"image_size", "32x48"},
                                                  {"learning_rate", "0.003"},
                                                  {"memory_format", "channels_last"},
                                                  {"min_time", "2.5 s"},
                                                  {"momentum", "0.5"},
                                                  {"num_classes", "7"},
                                                  {"num_nodes", "2"},
                                                  {"optimizer", "adam"},
                                                  {"placement", "each-node"},
                                                  {"runtime", "other"},
                                                  {"schedule", "cosine"},
                                                  {"sequence_length", "64"},
                                                  {"timed_steps", "30"},
                                                  {"warmup_steps", "3"},
                                                  {"weight_decay", "0.1"},
                                                  {"world_size", "4"},
                                                  {"global_batch_size", "256"},
                                                  {"batch_size", "16"}};
  for (const AxisInfo& axis : axis_table()) {
    SCOPED_TRACE(axis.name);
    ASSERT_TRUE(values.contains(std::string(axis.name)));
    TrialSpec changed = spec();
    axis.set(changed, values.at(std::string(axis.name)));
    EXPECT_EQ(axis.get(changed), values.at(std::string(axis.name)));
    EXPECT_NE(changed, spec());
  }
}

TEST(Axes, ValuesAreWhatRunsWithTheModelsDefaultsFilledIn) {
  EXPECT_EQ(axis_value(spec(), "optimizer"), "sgd");
  EXPECT_EQ(axis_value(spec(), "image_size"), "224");
  EXPECT_EQ(axis_value(spec(), "sequence_length"), "");
  EXPECT_EQ(axis_value(spec(), "global_batch_size"), "128");
  EXPECT_EQ(axis_value(spec(), "no such axis"), "");
}

TEST(Matches, AllLinesOfABlockMustHold) {
  EXPECT_TRUE(matches(spec(), {}));
  EXPECT_TRUE(matches(spec(), {any_of("model", {"bert*", "resnet*"}), any_of("gpu", {"H100*"})}));
  EXPECT_FALSE(matches(spec(), {any_of("model", {"resnet*"}), any_of("gpu", {"A100*"})}));
  EXPECT_TRUE(matches(spec(), {between("batch_size", 64, 64)}));
  EXPECT_FALSE(matches(spec(), {between("batch_size", 65, std::nullopt)}));
  EXPECT_FALSE(matches(spec(), {between("batch_size", std::nullopt, 63)}));
}

TEST(Matches, ANameWithStarsOrQuestionMarksMatchesItself) {
  TrialSpec odd = spec();
  odd.model = "what?*";
  EXPECT_TRUE(matches(odd, {any_of("model", {"what?*"})}));
}

TEST(Only, ReadsPatternsAndRanges) {
  EXPECT_EQ(parse_only("model=bert*,gpu=H100*"),
            (std::vector{any_of("model", {"bert*"}), any_of("gpu", {"H100*"})}));
  EXPECT_EQ(parse_only("model=a,model=b"), (std::vector{any_of("model", {"a", "b"})}));
  EXPECT_EQ(parse_only("batch_size=8..64"), (std::vector{between("batch_size", 8, 64)}));
  EXPECT_EQ(parse_only("batch_size=8.."), (std::vector{between("batch_size", 8, std::nullopt)}));
}

TEST(Only, SaysWhatIsWrong) {
  EXPECT_EQ(usage_error("modle=x"), "--only modle=x: unknown axis modle, did you mean model");
  EXPECT_EQ(usage_error("bert"),
            "--only bert: expected axis=value, for example model=bert*,gpu=H100*");
  EXPECT_EQ(usage_error("batch_size=8..x"),
            "--only batch_size=8..x: expected a range like 8..64, 8.. or ..64, alone");
  EXPECT_EQ(usage_error(""), "--only : expected axis=value, for example model=bert*,gpu=H100*");
}

}  // namespace
}  // namespace batchsweep::sweeps
