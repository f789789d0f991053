// SPDX-License-Identifier: Apache-2.0
#include "slurm/answers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sweeps/slurm_job.hpp"

namespace batchsweep::slurm {
namespace {

TEST(SlurmAnswers, SbatchSaysTheJobBehindItsWarnings) {
  EXPECT_EQ(submitted_job("123\n"), "123");
  EXPECT_EQ(submitted_job("sbatch: warning: 2 nodes are drained\n456;cluster\n"), "456");
  EXPECT_EQ(submitted_job("sbatch: error: invalid partition specified: x\n"), std::nullopt);
  EXPECT_EQ(submitted_job(""), std::nullopt);
}

TEST(SlurmAnswers, SqueueListsWhatWaitsAndRuns) {
  EXPECT_THAT(queued_jobs("12|PENDING|Resources\n13|RUNNING|None\n"),
              testing::ElementsAre(QueuedJob{"12", "PENDING", "Resources"},
                                   QueuedJob{"13", "RUNNING", "None"}));
  EXPECT_THAT(queued_jobs("slurm_load_jobs error: Invalid job id specified\n"), testing::IsEmpty());
}

TEST(SlurmAnswers, TimesAreSlurms) {
  using sweeps::parse_slurm_time;
  for (const auto& [text, s] : {std::pair<const char*, std::optional<double>>("30", 1800),
                                {"5:30", 330},
                                {"12:00:00", 43200},
                                {"2-12", 216000},
                                {"2-12:30", 217800},
                                {"1-01:02:03", 90123},
                                {"UNLIMITED", std::nullopt},
                                {"", std::nullopt},
                                {"1:", std::nullopt},
                                {"-5", std::nullopt},
                                {"1:2:3:4", std::nullopt},
                                {"1-2-3", std::nullopt},
                                {"1-", std::nullopt}}) {
    EXPECT_EQ(parse_slurm_time(text), s) << text;
  }
  EXPECT_EQ(sweeps::format_slurm_time(5400), "01:30:00");
  EXPECT_EQ(sweeps::format_slurm_time(90123), "1-01:02:03");
  EXPECT_EQ(sweeps::format_slurm_time(0.2), "00:00:01");
}

TEST(SlurmAnswers, AGresTellsHowManyGpus) {
  for (const auto& [gres, gpus] :
       {std::pair<const char*, std::optional<std::int64_t>>("gpu:h100:4", 4),
        {"gpu:2", 2},
        {"gpu", 1},
        {"gpu:a100", 1},
        {"gpu:a100:2,gpu:v100:1,shard:8", 3},
        {"gres:gpu:4(S:0-1)", 4},
        {"shard:8", std::nullopt},
        {"", std::nullopt}}) {
    EXPECT_EQ(gpus_in_gres(gres), gpus) << gres;
  }
}

TEST(SlurmAnswers, ARunEndsSomewhatBeforeItsJob) {
  EXPECT_EQ(time_left_s("11:59:30\n"), 43170);
  EXPECT_EQ(time_left_s("0:45\n"), 45);
  EXPECT_EQ(time_left_s("UNLIMITED\n"), std::nullopt);
  EXPECT_EQ(time_left_s("INVALID\n"), std::nullopt);
  EXPECT_EQ(margin_s(43170), 60);
  EXPECT_EQ(margin_s(120), 12);
  EXPECT_EQ(margin_s(20), 5);
}

}  // namespace
}  // namespace batchsweep::slurm
