// SPDX-License-Identifier: Apache-2.0
#include "sweeps/grid.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/error.hpp"
#include "sweeps/sweep_file.hpp"
#include "sweeps/trial_identity.hpp"

namespace batchsweep::sweeps {
namespace {

using testing::ElementsAre;

SweepSpec sweep_of(const std::string& rest) {
  ::setenv("HOME", "/nowhere", 1);
  return read_sweep_text("[sweep]\nname = \"s\"\n" + rest, "x.toml");
}

// "gpu model precision world batch" of every point.
std::vector<std::string> points(const SweepSpec& sweep,
                                const std::vector<std::string>& types = {"cpu"}) {
  const Grid grid(sweep, types);
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < grid.size(); ++i) {
    const TrialSpec spec = grid.spec(i);
    lines.push_back(spec.gpu + " " + spec.model + " " + spec.precision + " " +
                    std::to_string(spec.batch_size));
  }
  return lines;
}

std::string error_of(const SweepSpec& sweep, const std::vector<std::string>& types) {
  try {
    const Grid grid(sweep, types);
    return "no error, " + std::to_string(grid.size()) + " points";
  } catch (const ConfigError& error) {
    return error.what();
  }
}

TEST(Grid, TheBatchIsFastestThenPrecisionThenModelThenDevice) {
  EXPECT_THAT(
      points(sweep_of("[grid]\nbatch_size = [8, 16]\nprecision = [\"fp32\", \"bf16\"]\nmodel = "
                      "[\"resnet18\", \"lenet\"]\n"),
             {"cpu", "b"}),
      ElementsAre("cpu resnet18 fp32 8", "cpu resnet18 fp32 16", "cpu resnet18 bf16 8",
                  "cpu resnet18 bf16 16", "cpu lenet fp32 8", "cpu lenet fp32 16",
                  "cpu lenet bf16 8", "cpu lenet bf16 16", "b resnet18 fp32 8",
                  "b resnet18 fp32 16", "b resnet18 bf16 8", "b resnet18 bf16 16", "b lenet fp32 8",
                  "b lenet fp32 16", "b lenet bf16 8", "b lenet bf16 16"));
}

TEST(Grid, BlocksFollowInTheOrderOfTheFileWithoutDoubles) {
  EXPECT_THAT(points(sweep_of("[[grid]]\nmodel = \"lenet\"\nbatch_size = [8, 8, "
                              "16]\n[[grid]]\nmodel = \"lenet\"\nbatch_size = [4, 16]\n")),
              ElementsAre("cpu lenet fp32 8", "cpu lenet fp32 16", "cpu lenet fp32 4"));
}

TEST(Grid, AnAliasThatMeansTheSameIsTheSamePoint) {
  EXPECT_THAT(points(sweep_of("[grid]\nmodel = [\"lenet\", \"mine\"]\nbatch_size = "
                              "8\n[model.mine]\nsource = \"lenet\"\n")),
              ElementsAre("cpu lenet fp32 8"));
}

TEST(Grid, ExcludesDropWhatMatchesAllTheirLines) {
  EXPECT_THAT(
      points(sweep_of("[grid]\nmodel = [\"resnet18\", \"lenet\"]\nbatch_size = [8, 16, 32]\n"
                      "[[exclude]]\nmodel = \"res*\"\nbatch_size = { from = 16 "
                      "}\n[[exclude]]\nbatch_size = 8\n")),
      ElementsAre("cpu lenet fp32 16", "cpu lenet fp32 32"));
}

TEST(Grid, OnlyKeepsWhatOneOfItsTextsMatches) {
  SweepSpec sweep = sweep_of("[grid]\nmodel = [\"resnet18\", \"lenet\"]\nbatch_size = [8, 16]\n");
  sweep.only = {parse_only("model=lenet,batch_size=8"), parse_only("model=res*,batch_size=16..")};
  EXPECT_THAT(points(sweep), ElementsAre("cpu resnet18 fp32 16", "cpu lenet fp32 8"));
  sweep.only = {parse_only("model=bert*")};
  EXPECT_THROW(Grid(sweep, {"cpu"}), UsageError);
}

TEST(Grid, RangesMultiplyOrStepUpToTheirEnd) {
  const auto batches = [](const std::string& range) {
    return sweep_of("[grid]\nmodel = \"lenet\"\nbatch_size = " + range + "\n")
        .grid[0]
        .axes.back()
        .values;
  };
  EXPECT_THAT(batches("{ from = 8, to = 70, factor = 2 }"), ElementsAre("8", "16", "32", "64"));
  EXPECT_THAT(batches("{ from = 8, to = 32, step = 8 }"), ElementsAre("8", "16", "24", "32"));
  EXPECT_THAT(batches("{ from = 8, to = 8, step = 8 }"), ElementsAre("8"));
  EXPECT_THAT(batches("{ from = 1073741824, to = 2147483647, factor = 3 }"),
              ElementsAre("1073741824"));
}

TEST(Grid, AGlobalBatchIsDividedByRanksAndAccumulation) {
  const SweepSpec sweep = sweep_of(
      "[grid]\nmodel = \"lenet\"\nglobal_batch_size = [16, 18]\ngradient_accumulation_steps = [1, "
      "4]\n"
      "[[exclude]]\nglobal_batch_size = 18\ngradient_accumulation_steps = 4\n");
  EXPECT_THAT(points(sweep),
              ElementsAre("cpu lenet fp32 16", "cpu lenet fp32 18", "cpu lenet fp32 4"));
}

TEST(Grid, AnOwnModelsOptionsWinOverTrialAndAxesWinOverThem) {
  const SweepSpec sweep = sweep_of(
      "[[grid]]\nmodel = [\"short\", \"bert-tiny\"]\nbatch_size = 8\n"
      "[[grid]]\nmodel = \"short\"\nbatch_size = 8\nsequence_length = 16\n"
      "[model.short]\nsource = \"bert-tiny\"\nsequence_length = 32\n[trial]\nsequence_length = "
      "64\n");
  const Grid grid(sweep, {"cpu"});
  ASSERT_EQ(grid.size(), 3U);
  EXPECT_EQ(grid.spec(0).sequence_length, 32);
  EXPECT_EQ(grid.spec(1).sequence_length, 64) << "what one model fixes must not outlive it";
  EXPECT_EQ(grid.spec(2).sequence_length, 16);
}

TEST(Grid, GivesTheSameSpecsAndIdsHoweverItIsAsked) {
  const SweepSpec sweep = sweep_of(
      "[[grid]]\nmodel = [\"a\", \"lenet\"]\nprecision = [\"fp32\", \"bf16\"]\nwarmup_steps = [1, "
      "2, 3]\n"
      "optimizer = [\"sgd\", \"adam\"]\nbatch_size = [1, 2, 3, 4, 5]\n[model.a]\nsource = "
      "\"resnet18\"\nnum_classes = 3\n");
  const Grid grid(sweep, {"cpu", "b"});
  EXPECT_EQ(grid.size(), 2U * 2 * 2 * 3 * 2 * 5);
  std::set<TrialId> ids;
  for (std::size_t i = 0; i < grid.size(); ++i) {
    EXPECT_EQ(grid.id(i), trial_id(grid.spec(i), sweep));
    ids.insert(grid.id(i));
  }
  EXPECT_EQ(ids.size(), grid.size());
  std::size_t visited = 0;
  grid.for_each([&](std::size_t i, const TrialSpec& spec) {
    EXPECT_EQ(i, visited++);
    EXPECT_EQ(spec, grid.spec(i));
  });
  EXPECT_EQ(visited, grid.size());
}

TEST(Grid, AnAppendedValueLeavesTheOtherIdsAsTheyWere) {
  const SweepSpec before = sweep_of("[grid]\nmodel = \"lenet\"\nbatch_size = [8, 16]\n");
  const SweepSpec after =
      sweep_of("[grid]\nmodel = [\"resnet18\", \"lenet\"]\nbatch_size = [8, 16, 32]\n");
  const Grid a(before, {"cpu"}), b(after, {"cpu"});
  EXPECT_EQ(a.id(0), b.id(3));
  EXPECT_EQ(a.id(1), b.id(4));
}

TEST(Grid, RefusesAnEmptyOrHugeOneWithTheCount) {
  EXPECT_EQ(error_of(sweep_of("[grid]\nmodel = \"lenet\"\nbatch_size = 8\n"), {}),
            "x.toml: grid: empty: no device is here, and the grid names none");
  EXPECT_EQ(
      error_of(sweep_of("[grid]\nmodel = \"lenet\"\nbatch_size = 8\n[[exclude]]\nbatch_size = 8\n"),
               {"cpu"}),
      "x.toml: grid: empty: every point is dropped by an [[exclude]]");
  const auto grid = [](int from_1_to, int axes) {
    std::string text = "[grid]\nmodel = \"lenet\"\n";
    const std::string range = " = { from = 1, to = " + std::to_string(from_1_to) + ", step = 1 }\n";
    const std::vector<std::string> names{"batch_size", "warmup_steps", "timed_steps",
                                         "gradient_accumulation_steps"};
    for (int a = 0; a < axes; ++a) text += names[static_cast<std::size_t>(a)] + range;
    return text;
  };
  EXPECT_EQ(error_of(sweep_of(grid(1024, 4)), {"cpu"}),
            "x.toml: grid: 1,099,511,627,776 points: at most 10,000,000 are planned");
  EXPECT_EQ(error_of(sweep_of(grid(3163, 2)), {"cpu"}),
            "x.toml: grid: 10,004,569 points: at most 10,000,000 are planned");
}

// "gpu batch @pinned_to" of every point, asked one by one; walking them must tell the same.
std::vector<std::string> pinned_points(const SweepSpec& sweep, const PinTargets& targets) {
  const Grid grid(sweep, {"cpu", "b"}, targets);
  std::vector<std::string> lines, walked;
  std::set<TrialId> ids;
  const auto line = [](const TrialSpec& spec) {
    return fmt::format("{} {} @{}", spec.gpu, spec.batch_size, spec.pinned_to);
  };
  for (std::size_t i = 0; i < grid.size(); ++i) {
    lines.push_back(line(grid.spec(i)));
    ids.insert(grid.id(i));
    EXPECT_EQ(grid.id(i), trial_id(grid.spec(i), sweep));
  }
  grid.for_each([&](std::size_t i, const TrialSpec& spec) {
    EXPECT_EQ(i, walked.size());
    walked.push_back(line(spec));
  });
  EXPECT_EQ(walked, lines);
  EXPECT_EQ(ids.size(), grid.size());
  return lines;
}

TEST(Grid, APinnedPointIsATrialForEachHostOrDeviceOfItsType) {
  const PinTargets targets{.hosts = {{"cpu", {"n1", "n2"}}, {"b", {"n2"}}},
                           .devices = {{"cpu", {"u1", "u2", "u3"}}}};
  const std::string grid = "[grid]\nmodel = \"lenet\"\nbatch_size = [8, 16]\n";
  EXPECT_THAT(
      pinned_points(sweep_of(grid + "[trial]\nplacement = \"each-node\"\n"), targets),
      ElementsAre("cpu 8 @n1", "cpu 8 @n2", "cpu 16 @n1", "cpu 16 @n2", "b 8 @n2", "b 16 @n2"));
  EXPECT_THAT(pinned_points(sweep_of(grid + "gpu = \"cpu\"\nplacement = [\"any\", "
                                            "\"each-device\"]\n"),
                            targets),
              ElementsAre("cpu 8 @", "cpu 16 @", "cpu 8 @u1", "cpu 8 @u2", "cpu 8 @u3",
                          "cpu 16 @u1", "cpu 16 @u2", "cpu 16 @u3"));
  EXPECT_THAT(pinned_points(sweep_of(grid + "[trial]\nplacement = \"each-device\"\n"), {}),
              ElementsAre("cpu 8 @nowhere", "cpu 16 @nowhere", "b 8 @nowhere", "b 16 @nowhere"));
}

TEST(Grid, DependsOnWhatIsHereWhereTypesOrPlacesAreLeftOpen) {
  const std::string grid = "[grid]\nmodel = \"lenet\"\nbatch_size = 8\n";
  EXPECT_TRUE(asks_for_present_types(sweep_of(grid)));
  EXPECT_FALSE(asks_for_present_types(sweep_of(grid + "gpu = \"cpu\"\n")));
  EXPECT_TRUE(
      asks_for_present_types(sweep_of(grid + "gpu = \"cpu\"\nplacement = \"each-node\"\n")));
  EXPECT_TRUE(asks_for_present_types(
      sweep_of(grid + "gpu = \"cpu\"\n[trial]\nplacement = \"each-node\"\n")));
}

}  // namespace
}  // namespace batchsweep::sweeps
