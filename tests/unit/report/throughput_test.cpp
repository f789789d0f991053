// SPDX-License-Identifier: Apache-2.0
#include "results/report/throughput.hpp"

#include <gmock/gmock.h>

#include "base/error.hpp"
#include "tests/unit/report/sample_trials.hpp"

namespace batchsweep::results {
namespace {

using ::testing::ElementsAre;

TrialRecord row(const std::string& gpu, const std::string& model, double rate,
                std::int64_t batch = 8) {
  TrialRecord trial = with_rate(sample_trial(batch), rate, 1);
  trial.gpu = gpu;
  trial.model = model;
  return trial;
}

TrialRecord emulated(const std::string& gpu, double rate, const std::string& carrier) {
  TrialRecord trial = row(gpu, "resnet18", rate);
  trial.emulated = true;
  trial.device_name = carrier;
  return trial;
}

const Throughput& of_gpu(const Groups& groups, const ThroughputAnswer& answer,
                         const std::string& gpu) {
  for (const Throughput& best : answer.best) {
    if (groups.values.text(kGpu, groups.groups[best.group].key) == gpu) return best;
  }
  throw std::runtime_error("no row of " + gpu);
}

TEST(ThroughputAnswer, IsTheBestBatchWithItsInterval) {
  const Groups groups = gather(
      {row("a", "resnet18", 100, 8), row("a", "resnet18", 140, 16), row("a", "resnet18", 120, 32)});
  const Throughput best = throughput(groups, "").best.at(0);
  EXPECT_EQ(best.batch, 16);
  EXPECT_EQ(best.samples_per_s, 140);
  EXPECT_EQ(best.rate_low, 139);
  EXPECT_EQ(best.near_best_batch, 16);
}

TEST(ThroughputAnswer, NamesTheSmallestBatchThatIsAsFastWithinTheIntervals) {
  const Groups groups = gather({row("a", "resnet18", 100, 8), row("a", "resnet18", 138.5, 16),
                                row("a", "resnet18", 140, 32)});
  EXPECT_EQ(throughput(groups, "").best.at(0).near_best_batch, 16);
}

TEST(ThroughputAnswer, IsRelativeToTheFirstDeviceOrToTheOneNamed) {
  const Groups groups = gather({row("a", "resnet18", 100), row("b", "resnet18", 250)});
  ThroughputAnswer answer = throughput(groups, "");
  EXPECT_EQ(of_gpu(groups, answer, "a").relative, 1);
  EXPECT_EQ(of_gpu(groups, answer, "b").relative, 2.5);
  answer = throughput(groups, "b");
  EXPECT_EQ(of_gpu(groups, answer, "a").relative, 0.4);
  EXPECT_EQ(of_gpu(groups, answer, "a").reference, "b");
}

TEST(ThroughputAnswer, AnUnknownReferenceIsRefusedWithTheNamesThatExist) {
  const Groups groups = gather({row("H100 PCIe", "resnet18", 100)});
  try {
    (void)throughput(groups, "H100");
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("H100 PCIe"));
  }
}

TEST(ThroughputAnswer, TheGeometricMeanIsOverModelsThatBothHave) {
  const Groups groups =
      gather({row("a", "resnet18", 100), row("a", "bert-tiny", 10), row("a", "lenet", 7),
              row("b", "resnet18", 200), row("b", "bert-tiny", 80)});
  const ThroughputAnswer answer = throughput(groups, "a");
  ASSERT_EQ(answer.means.size(), 2U);
  EXPECT_NEAR(answer.means[0].relative, 1, 1e-12);
  EXPECT_NEAR(answer.means[1].relative, 4, 1e-12);  // sqrt(2 * 8)
  EXPECT_THAT(answer.means[1].models, ElementsAre("bert-tiny", "resnet18"));
}

TEST(ThroughputAnswer, AnAxisThatFollowsFromTheModelDoesNotKeepModelsApart) {
  std::vector<TrialRecord> trials = {row("a", "resnet18", 100), row("a", "bert-tiny", 10),
                                     row("b", "resnet18", 200), row("b", "bert-tiny", 80)};
  for (TrialRecord& trial : trials) trial.optimizer = trial.model == "bert-tiny" ? "adamw" : "sgd";
  EXPECT_EQ(throughput(gather(trials), "a").means.size(), 2U);
}

TEST(ThroughputAnswer, PrecisionsAreNeverComparedWithEachOther) {
  std::vector<TrialRecord> trials = {row("a", "resnet18", 100), row("b", "resnet18", 200)};
  trials[1].precision = "bf16";
  const Groups groups = gather(trials);
  EXPECT_EQ(of_gpu(groups, throughput(groups, "a"), "b").relative, std::nullopt);
}

TEST(ThroughputAnswer, APrecisionInHardwareIsNotComparedWithAnEmulatedOne) {
  std::vector<TrialRecord> trials = {row("a", "resnet18", 100), row("b", "resnet18", 200),
                                     row("c", "resnet18", 300)};
  trials[0].precision_native = trials[1].precision_native = false;
  const Groups groups = gather(trials);
  const ThroughputAnswer answer = throughput(groups, "a");
  EXPECT_EQ(of_gpu(groups, answer, "b").relative, 2);
  EXPECT_EQ(of_gpu(groups, answer, "c").relative, std::nullopt);
}

TEST(ThroughputAnswer, EmulatedDevicesAreComparedAmongThemselvesOnOneCardOnly) {
  const Groups groups = gather(
      {row("H200 SXM", "resnet18", 900), emulated("A100 40GB SXM", 800, "NVIDIA H200"),
       emulated("RTX 2080 Ti", 400, "NVIDIA H200"), emulated("V100 16GB SXM", 300, "NVIDIA A100")});
  ThroughputAnswer answer = throughput(groups, "");
  EXPECT_EQ(of_gpu(groups, answer, "H200 SXM").relative, 1);
  EXPECT_EQ(of_gpu(groups, answer, "RTX 2080 Ti").relative, 0.5);
  EXPECT_EQ(of_gpu(groups, answer, "RTX 2080 Ti").reference, "A100 40GB SXM");
  EXPECT_EQ(of_gpu(groups, answer, "V100 16GB SXM").reference, "V100 16GB SXM");
  answer = throughput(groups, "H200 SXM");
  EXPECT_NE(of_gpu(groups, answer, "RTX 2080 Ti").reference, "H200 SXM");
}

TEST(ThroughputAnswer, FlagsWhatMakesANumberDoubtful) {
  TrialRecord trial = row("a", "resnet18", 100);
  trial.neighbours_max = 1;
  trial.precision_native = false;
  trial.skipped_steps = 6;
  trial.samples = 19 * 8 + 3;
  EXPECT_THAT(throughput(gather({trial}), "").best.at(0).flags,
              ElementsAre("not alone", "precision not native", "short batches", "6 steps skipped"));
}

TEST(ThroughputAnswer, OfAllRanksAndPerGpuAreTwoNumbers) {
  TrialRecord trial = row("a", "resnet18", 320);
  trial.world_size = 4;
  const Throughput best = throughput(gather({trial}), "").best.at(0);
  EXPECT_EQ(best.samples_per_s, 320);
  EXPECT_EQ(best.world_size, 4);
}

}  // namespace
}  // namespace batchsweep::results
