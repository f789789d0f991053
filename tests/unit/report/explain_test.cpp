// SPDX-License-Identifier: Apache-2.0
#include "results/report/explain.hpp"

#include <gmock/gmock.h>

#include "tests/unit/report/sample_trials.hpp"

namespace batchsweep::results {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

AttemptRecord attempt(std::int64_t number, const std::string& outcome) {
  AttemptRecord record;
  record.trial = sample_trial(8);
  record.trial.attempt = number;
  record.trial.outcome = outcome;
  return record;
}

std::size_t times(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

TEST(Explain, SaysWhatAttemptsShareOnceAndTheRestWithEach) {
  AttemptRecord crashed = attempt(1, "crashed");
  crashed.trial.signal = 11;
  const std::string text = explain_attempts({crashed, attempt(2, "completed")});
  EXPECT_THAT(text, HasSubstr("resnet18 on small, fp32, batch 8"));
  EXPECT_EQ(times(text, "  optimizer "), 1U);
  EXPECT_THAT(text, HasSubstr("Repeat 0, attempt 1: crashed"));
  EXPECT_THAT(text, HasSubstr("Repeat 0, attempt 2: completed"));
  EXPECT_LT(text.find("attempt 1: crashed"), text.find("  signal "));
  EXPECT_EQ(times(text, "  signal "), 1U);
}

TEST(Explain, SaysWhichRowCountsWhereTheFileHasSeveralRuns) {
  AttemptRecord failed = attempt(1, "failed"), again = attempt(1, "completed");
  again.trial.run_id = "run-2";
  again.trial.sequence = failed.trial.sequence + 1;
  RunInfo first, second;
  first.run_id = "run-1";
  second.run_id = "run-2";
  second.rerun = "failed";
  const auto said = [&](const std::vector<AttemptRecord>& attempts,
                        const std::vector<RunInfo>& runs, const sweeps::TrialSpec* spec) {
    return explain_what_counts(counting_rows(attempts, runs, spec), runs);
  };
  EXPECT_EQ(said({failed}, {first}, nullptr), "");
  EXPECT_THAT(said({failed}, {first, second}, nullptr),
              HasSubstr("repeat 0: no row: batchsweep run measures it again"));
  EXPECT_THAT(said({failed, again}, {first, second}, nullptr),
              HasSubstr("repeat 0: completed, of run run-2"));
  second.rerun = "batch_size=8";
  EXPECT_THAT(said({failed}, {first, second}, nullptr),
              HasSubstr("repeat 0: failed, of run run-1"));
  sweeps::TrialSpec spec;
  spec.batch_size = 8;
  EXPECT_THAT(said({failed}, {first, second}, &spec), HasSubstr("no row"));
}

TEST(Explain, SaysWhichRowCountsAsJsonToo) {
  EXPECT_EQ(to_json(CountingRow{.repeat = 1, .outcome = Outcome::kCrashed, .run_id = "run-1"}),
            Json::parse(R"({"repeat": 1, "outcome": "crashed", "run_id": "run-1"})"));
  EXPECT_EQ(to_json(CountingRow{.repeat = 0, .outcome = std::nullopt, .run_id = ""}),
            Json::parse(R"({"repeat": 0, "outcome": null, "run_id": null})"));
}

TEST(Explain, ShowsBytesAsPeopleReadThemBesideTheNumber) {
  AttemptRecord record = attempt(1, "out_of_memory");
  record.trial.oom_requested_bytes = 67108864;
  EXPECT_THAT(explain_attempts({record}), HasSubstr("67108864 (64.0 MiB)"));
}

TEST(Explain, ShowsEvidenceRanksStepsAndLog) {
  AttemptRecord record = attempt(1, "out_of_memory");
  record.trial.message = "asked 64 MiB";
  record.ranks.resize(2);
  record.ranks[0].device_uuid = "GPU-aaaa";
  record.ranks[1].rank = 1;
  record.ranks[1].device_uuid = "GPU-bbbb";
  StepTimes steps;
  steps.warmup_steps = 1;
  steps.time_s = {0.057, 0.002, 0.004, 0.003};
  record.steps.push_back(steps);
  record.log = "line one\nline two\n";
  const std::string text = explain_attempts({record});
  EXPECT_THAT(text, HasSubstr("asked 64 MiB"));
  EXPECT_THAT(text, HasSubstr("GPU-aaaa"));
  EXPECT_THAT(text, HasSubstr("GPU-bbbb"));
  EXPECT_THAT(
      text,
      HasSubstr("rank 0: warm-up 57 ms; 3 timed: shortest 2 ms, median 3 ms, 95th percentile 4 "
                "ms, longest 4 ms"));
  EXPECT_THAT(text, HasSubstr("    | line one\n    | line two\n"));
}

sweeps::TrialSpec spec() {
  sweeps::TrialSpec trial;
  trial.gpu = "small";
  trial.model = "resnet18";
  trial.batch_size = 8;
  return trial;
}

TEST(ExplainStanding, WithoutARunningSweepItSaysHowToGoOn) {
  EXPECT_THAT(explain_standing(spec(), "00aa", {}), HasSubstr("no sweep is running"));
}

TEST(ExplainStanding, ARunningTrialIsNamedWithItsDeviceAndStep) {
  const Json status =
      Json::parse(R"({"devices": [{"host": "n1", "device": 2, "type": "small", "state": "running",
      "runs": {"trial": "00aa", "repeat": 0, "attempt": 1, "phase": "timed", "step": 7, "since_s": 12.0}}],
      "next": [], "skipped": []})");
  EXPECT_EQ(
      explain_standing(spec(), "00aa", status),
      "running: repeat 0, attempt 1 on n1 (device 2, small), phase timed, step 7, since 12 s\n");
  EXPECT_THAT(explain_standing(spec(), "00bb", status), Not(HasSubstr("running")));
}

TEST(ExplainStanding, AWaitingTrialCarriesTheSchedulersReason) {
  const Json status = Json::parse(
      R"({"counts": {"waiting": 5}, "devices": [], "next": [{"trial": "00aa", "repeat": 0, "why": "every small is busy"}],
          "skipped": []})");
  EXPECT_EQ(explain_standing(spec(), "00aa", status), "waiting: repeat 0: every small is busy\n");
  EXPECT_EQ(explain_standing(spec(), "00bb", status),
            "waiting: 5 trials wait, others stand before it; the next one waits because: every "
            "small is busy\n");
}

TEST(ExplainStanding, ATypeThatIsNotHereIsTheReason) {
  const Json status = Json::parse(
      R"({"counts": {"waiting": 0}, "devices": [], "next": [], "skipped": [{"gpu": "small", "world_size": 1,
          "precision": "fp32", "why": "no device of type small here"}]})");
  EXPECT_EQ(explain_standing(spec(), "00aa", status), "skipped: no device of type small here\n");
}

}  // namespace
}  // namespace batchsweep::results
