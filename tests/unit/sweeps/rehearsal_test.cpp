// SPDX-License-Identifier: Apache-2.0
#include "sweeps/rehearsal.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <numeric>

namespace batchsweep::sweeps {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

constexpr double kMiB = 1024.0 * 1024.0;

TrialSpec trial(std::int64_t batch_size, std::int64_t world_size = 1) {
  TrialSpec spec;
  spec.origin = Origin::kRehearsed;
  spec.gpu = "small";
  spec.model = "resnet18";
  spec.batch_size = batch_size;
  spec.world_size = world_size;
  return spec;
}

RehearsalRule plain_rule() {
  RehearsalRule rule;
  rule.memory_fixed_bytes = 200 * kMiB;
  rule.memory_per_sample_bytes = 10 * kMiB;
  rule.step_fixed_s = 0.005;
  rule.step_per_sample_s = 0.001;
  return rule;
}

TEST(PlayScript, SaysMemoryAndStepTimesOfItsBatch) {
  TrialSpec spec = trial(8);
  spec.warmup_steps = 1;
  spec.timed_steps = 2;
  const PlayScript script = play_script(plain_rule(), spec, 0, 0, 1);
  EXPECT_EQ(script.allocated_bytes, 280 * kMiB);
  EXPECT_EQ(script.reserved_bytes, 280 * kMiB);
  EXPECT_THAT(script.step_times_s, ElementsAre(0.013, 0.013, 0.013));
  EXPECT_EQ(script.fault, Fault::kNone);
}

TEST(PlayScript, AStepIsAsManyMicroStepsAsGradientsAreAccumulated) {
  TrialSpec spec = trial(8);
  spec.gradient_accumulation_steps = 4;
  const PlayScript script = play_script(plain_rule(), spec, 0, 0, 1);
  EXPECT_DOUBLE_EQ(script.step_times_s.front(), 0.037);
  EXPECT_EQ(script.allocated_bytes, 280 * kMiB);
}

TEST(PlayScript, MemoryIsRoundedUpToStepsAndDoubledForExceptions) {
  RehearsalRule rule = plain_rule();
  rule.memory_steps_bytes = 64 * kMiB;
  rule.memory_except = {33};
  rule.reserved_factor = 1.5;
  EXPECT_EQ(play_script(rule, trial(32), 0, 0, 1).allocated_bytes, 576 * kMiB);
  EXPECT_EQ(play_script(rule, trial(32), 0, 0, 1).reserved_bytes, 864 * kMiB);
  EXPECT_EQ(play_script(rule, trial(33), 0, 0, 1).allocated_bytes, 1088 * kMiB);
}

TEST(PlayScript, TheTimedWindowLastsAtLeastMinTime) {
  TrialSpec spec = trial(5);
  spec.warmup_steps = 2;
  spec.timed_steps = 3;
  spec.min_time_s = 0.095;
  EXPECT_THAT(play_script(plain_rule(), spec, 0, 0, 1).step_times_s, SizeIs(2 + 10));
}

TEST(PlayScript, EqualArgumentsGiveEqualScriptsAndOthersOtherNoise) {
  RehearsalRule rule = plain_rule();
  rule.step_noise = 0.02;
  rule.memory_noise = 0.02;
  const PlayScript script = play_script(rule, trial(8), 0, 0, 1);
  EXPECT_EQ(play_script(rule, trial(8), 0, 0, 1), script);
  EXPECT_NE(play_script(rule, trial(8), 1, 0, 1).step_times_s, script.step_times_s);
  EXPECT_NE(play_script(rule, trial(8), 0, 1, 1).step_times_s, script.step_times_s);
  EXPECT_NE(play_script(rule, trial(8), 0, 0, 2).step_times_s, script.step_times_s);
  EXPECT_NE(play_script(rule, trial(8), 0, 1, 1).allocated_bytes, script.allocated_bytes);
  TrialSpec other_seed = trial(8);
  other_seed.seed = 2;
  EXPECT_NE(play_script(rule, other_seed, 0, 0, 1).step_times_s, script.step_times_s);
}

TEST(PlayScript, RunningAgainNeverChangesTheMemory) {
  RehearsalRule rule = plain_rule();
  rule.memory_noise = 0.1;
  EXPECT_EQ(play_script(rule, trial(8), 0, 0, 1).allocated_bytes,
            play_script(rule, trial(8), 0, 0, 2).allocated_bytes);
}

struct Moments {
  double mean = 0, deviation = 0, lag1 = 0;
};
Moments moments(const std::vector<double>& values) {
  const auto n = static_cast<double>(values.size());
  Moments m;
  m.mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double square = 0, product = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    square += (values[i] - m.mean) * (values[i] - m.mean);
    if (i > 0) product += (values[i] - m.mean) * (values[i - 1] - m.mean);
  }
  m.deviation = std::sqrt(square / n);
  m.lag1 = product / square;
  return m;
}
Moments moments_of(const std::string& series) {
  RehearsalRule rule = plain_rule();
  rule.step_noise = 0.02;
  rule.step_series = series;
  TrialSpec spec = trial(5);
  spec.timed_steps = 5000;
  return moments(play_script(rule, spec, 0, 0, 1).step_times_s);
}

TEST(PlayScript, NoiseIsRelativeAndHasTheSeriesThatWasAskedFor) {
  const Moments iid = moments_of("iid");
  EXPECT_NEAR(iid.mean, 0.010, 0.00002);
  EXPECT_NEAR(iid.deviation, 0.0002, 0.00001);
  EXPECT_NEAR(iid.lag1, 0, 0.05);

  const Moments correlated = moments_of("ar1:0.9");
  EXPECT_NEAR(correlated.deviation, 0.0002, 0.00003);
  EXPECT_NEAR(correlated.lag1, 0.9, 0.03);

  EXPECT_GT(moments_of("drift").lag1, 0.5);
  EXPECT_NEAR(moments_of("bimodal").deviation, 0.0002, 0.00001);
  EXPECT_GT(moments_of("spikes").mean, 0.0101);
}

TEST(PlayScript, TheFaultIsOfItsRankAndOfItsFirstAttempts) {
  RehearsalRule rule = plain_rule();
  rule.fault = Fault::kExit;
  rule.fault_exit_code = 3;
  rule.fault_rank = 1;
  rule.fault_step = 4;
  rule.fault_attempts = 2;
  const PlayScript guilty = play_script(rule, trial(8, 2), 1, 0, 2);
  EXPECT_EQ(guilty.fault, Fault::kExit);
  EXPECT_EQ(guilty.fault_exit_code, 3);
  EXPECT_EQ(guilty.fault_step, 4);
  EXPECT_EQ(play_script(rule, trial(8, 2), 0, 0, 2).fault, Fault::kNone);
  EXPECT_EQ(play_script(rule, trial(8, 2), 1, 0, 3).fault, Fault::kNone);
}

TEST(PlayScript, TheFaultStrikesAsOftenAsItsProbabilitySays) {
  RehearsalRule rule = plain_rule();
  rule.fault = Fault::kSegfault;
  rule.fault_probability = 0.25;
  int struck = 0;
  for (int batch = 1; batch <= 1000; ++batch)
    struck += play_script(rule, trial(batch), 0, 0, 1).fault != Fault::kNone;
  EXPECT_NEAR(struck, 250, 45);
}

TEST(PlayedOutOfMemory, ComesFromTheReservedBytesAndTheLimit) {
  PlayScript script;
  script.allocated_bytes = 300;
  script.reserved_bytes = 360;
  EXPECT_EQ(played_out_of_memory(script, 360), std::nullopt);
  const PlayedOutOfMemory expected{.requested_bytes = 50,
                                   .allocated_bytes = 250,
                                   .reserved_bytes = 300,
                                   .limit_bytes = 300,
                                   .step = 1};
  EXPECT_EQ(played_out_of_memory(script, 300), expected);
}

TEST(PlayedOutOfMemory, ComesFromTheFaultInItsStep) {
  PlayScript script;
  script.allocated_bytes = 300;
  script.reserved_bytes = 360;
  script.fault = Fault::kOom;
  script.fault_step = 3;
  const PlayedOutOfMemory expected{.requested_bytes = 641,
                                   .allocated_bytes = 300,
                                   .reserved_bytes = 360,
                                   .limit_bytes = 1000,
                                   .step = 3};
  EXPECT_EQ(played_out_of_memory(script, 1000), expected);
}

TEST(PlayScriptJson, ComesBackAsItWas) {
  RehearsalRule rule = plain_rule();
  rule.step_noise = 0.02;
  rule.fault = Fault::kGarbage;
  const PlayScript script = play_script(rule, trial(8), 0, 0, 1);
  EXPECT_EQ(play_script_from_json(Json::parse(dump(to_json(script)))), script);
}

TEST(MatchingRule, IsTheFirstOneWhoseLinesAllMatch) {
  Rehearsal rehearsal;
  rehearsal.rules.resize(3);
  rehearsal.rules[0].when = {{.axis = "model", .patterns = {"bert*"}, .from = {}, .to = {}}};
  rehearsal.rules[1].when = {{.axis = "model", .patterns = {"resnet18"}, .from = {}, .to = {}},
                             {.axis = "batch_size", .patterns = {}, .from = 16, .to = {}}};
  rehearsal.rules[2].when = {{.axis = "gpu", .patterns = {"small"}, .from = {}, .to = {}}};
  EXPECT_EQ(matching_rule(rehearsal, trial(16)), &rehearsal.rules[1]);
  EXPECT_EQ(matching_rule(rehearsal, trial(8)), &rehearsal.rules[2]);
  TrialSpec other = trial(8);
  other.gpu = "large";
  EXPECT_EQ(matching_rule(rehearsal, other), nullptr);
}

}  // namespace
}  // namespace batchsweep::sweeps
