// SPDX-License-Identifier: Apache-2.0
// batchsweep-trial as it is used: one line in, events out, really training.
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/json.hpp"
#include "worker/protocol/trial_events.hpp"
#include "worker/protocol/trial_input.hpp"

namespace batchsweep::protocol {
namespace {

using results::Phase;
using testing::HasSubstr;

TrialInput input_of(const std::string& model, std::int64_t batch_size,
                    const std::string& precision = "fp32") {
  TrialInput input;
  input.trial_id = "0123456789abcdef";
  input.seed = 1;
  input.spec.model = input.spec.model_source = model;
  input.spec.batch_size = batch_size;
  input.spec.precision = precision;
  input.spec.warmup_steps = 1;
  input.spec.timed_steps = 2;
  input.device.type = "cpu";
  input.device.threads = 1;
  return input;
}

struct Story {
  int exit_code = 0;
  std::string output;  // standard output and error
  std::vector<TrialEvent> events;

  template <class Event>
  [[nodiscard]] std::vector<Event> all() const {
    std::vector<Event> found;
    for (const TrialEvent& event : events) {
      if (const auto* one = std::get_if<Event>(&event)) found.push_back(*one);
    }
    return found;
  }
  [[nodiscard]] const Result& result() const { return std::get<Result>(events.back()); }
  [[nodiscard]] const Ending& ending() const { return std::get<Ending>(events.back()); }
};

Story run_program(const std::string& standard_input) {
  const std::string path = testing::TempDir() + "batchsweep_trial_test." + std::to_string(getpid());
  std::ofstream(path) << standard_input;
  const std::string command = std::string(std::getenv("BATCHSWEEP_TRIAL")) + " < " + path + " 2>&1";
  FILE* pipe = popen(command.c_str(), "r");
  Story run;
  std::array<char, 4096> part;
  while (const std::size_t n = fread(part.data(), 1, part.size(), pipe))
    run.output.append(part.data(), n);
  run.exit_code = WEXITSTATUS(pclose(pipe));
  std::remove(path.c_str());
  return run;
}

Story run(const TrialInput& input) {
  Story run = run_program(dump(to_json(input)) + "\n");
  std::istringstream lines(run.output);
  for (std::string line; std::getline(lines, line);) run.events.push_back(decode_line(line));
  return run;
}

class TextFile {
 public:
  TextFile() : path_(testing::TempDir() + "batchsweep_trial_test.txt") {
    std::ofstream file(path_);
    for (int i = 0; i < 3000; ++i)
      file << "In the beginning God created the heaven and the earth. ";
  }
  ~TextFile() { std::remove(path_.c_str()); }
  [[nodiscard]] std::string data() const { return "text:" + path_; }

 private:
  std::string path_;
};

double mean(const std::vector<double>& values, std::size_t from, std::size_t count) {
  double sum = 0;
  for (std::size_t i = from; i < from + count; ++i) sum += values.at(i);
  return sum / static_cast<double>(count);
}

// The mean of the first and of the last five losses.
void expect_falling_loss(const TrialInput& input, double to_at_most) {
  const Story trial = run(input);
  ASSERT_TRUE(std::holds_alternative<Result>(trial.events.back())) << trial.output;
  const std::vector<double>& losses = trial.result().steps.loss;
  const double before = mean(losses, 0, 5), after = mean(losses, losses.size() - 5, 5);
  EXPECT_LT(after, to_at_most * before) << before << " -> " << after;
}

TEST(Trial, TellsItsStoryInOrder) {
  const Story trial = run(input_of("lenet", 4));
  EXPECT_EQ(trial.exit_code, 0);
  ASSERT_EQ(trial.events.size(), 9u) << trial.output;
  EXPECT_EQ(std::get<Hello>(trial.events[0]).software.torch_version, "2.11.0");
  EXPECT_THAT(std::get<Hello>(trial.events[0]).software.program, HasSubstr("batchsweep-trial "));
  EXPECT_EQ(std::get<PhaseBegan>(trial.events[1]).phase, Phase::kSetup);
  EXPECT_EQ(std::get<PhaseBegan>(trial.events[2]).phase, Phase::kWarmup);
  EXPECT_EQ(std::get<StepDone>(trial.events[3]).step, 1);
  EXPECT_EQ(std::get<PhaseBegan>(trial.events[4]).phase, Phase::kTimed);
  EXPECT_EQ(std::get<StepDone>(trial.events[5]).step, 2);
  EXPECT_EQ(std::get<StepDone>(trial.events[6]).step, 3);
  EXPECT_EQ(std::get<PhaseBegan>(trial.events[7]).phase, Phase::kTeardown);
  EXPECT_TRUE(std::holds_alternative<Result>(trial.events[8]));
}

TEST(Trial, MeasuresWhatItDid) {
  auto input = input_of("bert-tiny", 2);
  input.spec.gradient_accumulation_steps = 3;
  input.spec.sequence_length = 32;
  const Story trial = run(input);
  const results::RankRecord& measured = trial.result().measured;
  EXPECT_EQ(measured.num_parameters, 4'416'698);
  EXPECT_EQ(measured.applied_steps, 3);
  EXPECT_EQ(measured.skipped_steps, 0);
  EXPECT_EQ(measured.samples, 2 * 3 * 2);  // of the timed window
  EXPECT_EQ(measured.tokens, 2 * 3 * 2 * 32);
  EXPECT_EQ(trial.result().steps.warmup_steps, 1);
  const std::vector<double>& times = trial.result().steps.time_s;
  ASSERT_EQ(times.size(), 3u);
  EXPECT_GE(*measured.window_s, times[1] + times[2]);
  EXPECT_LT(*measured.data_wait_s, *measured.window_s);
  EXPECT_GT(*measured.setup_s, 0.05);
  EXPECT_LT(*measured.setup_s, 60);
  EXPECT_EQ(measured.loss_first, trial.result().steps.loss.front());
  EXPECT_EQ(measured.loss_last, trial.result().steps.loss.back());
}

TEST(Trial, CountsMemoryFromWeightsToPeaks) {
  const results::RankRecord measured = run(input_of("lenet", 64)).result().measured;
  const double state = 61'706 * 4 * 3;  // weights, gradients, momentum
  EXPECT_GT(*measured.peak_allocated_bytes, state + 64 * 28 * 28 * 4 * 6);
  EXPECT_GE(*measured.peak_allocated_bytes, *measured.steady_peak_allocated_bytes);
  EXPECT_GT(*measured.steady_peak_allocated_bytes, state);
  EXPECT_GE(*measured.peak_reserved_bytes, *measured.peak_allocated_bytes);
  EXPECT_GE(*measured.rss_peak_bytes, *measured.peak_reserved_bytes);
}

TEST(Trial, GoesOnUntilTheWindowIsLongEnough) {
  auto input = input_of("lenet", 4);
  input.spec.min_time_s = 0.2;
  const Result result = run(input).result();
  EXPECT_GE(*result.measured.window_s, 0.2);
  EXPECT_GT(result.steps.time_s.size(), 3u);
  EXPECT_EQ(*result.measured.samples, 4 * (static_cast<double>(result.steps.time_s.size()) - 1));
}

TEST(Trial, RepeatsItsLossesUnderTheSameSeed) {
  for (const char* model : {"resnet18", "bert-tiny"}) {
    auto input = input_of(model, 4, "bf16");
    input.device.threads = 2;
    if (std::string(model) == "resnet18") input.spec.data = "fashion-mnist";
    const std::vector<double> once = run(input).result().steps.loss,
                              again = run(input).result().steps.loss;
    EXPECT_EQ(once, again) << model;
    input.seed = 2;
    EXPECT_NE(run(input).result().steps.loss, once) << model;
  }
}

TEST(Trial, LearnsFashionMnistWithLenet) {
  auto input = input_of("lenet", 64);
  input.spec.data = "fashion-mnist";
  input.spec.timed_steps = 120;
  input.spec.learning_rate = 0.02;
  expect_falling_loss(input, 0.6);
}

TEST(Trial, LearnsFashionMnistWithResnet18InBf16) {
  auto input = input_of("resnet18", 32, "bf16");
  input.spec.data = "fashion-mnist";
  input.spec.timed_steps = 45;
  expect_falling_loss(input, 0.7);
}

TEST(Trial, LearnsTextWithBertTiny) {
  const TextFile text;
  auto input = input_of("bert-tiny", 8);
  input.spec.data = text.data();
  input.spec.timed_steps = 40;
  input.spec.learning_rate = 1e-3;
  expect_falling_loss(input, 0.7);
}

class TrialUnderACap : public testing::TestWithParam<std::tuple<const char*, const char*>> {};

TEST_P(TrialUnderACap, RunsAtItsPeakAndIsOutOfMemoryOneByteBelow) {
  const auto [model, precision] = GetParam();
  auto input = input_of(model, 4, precision);
  if (std::string(model) == "resnet18") {
    input.spec.image_height = input.spec.image_width = 64;
    input.spec.num_classes = 10;
  }
  const double peak = *run(input).result().measured.peak_allocated_bytes;

  input.device.limit_bytes = static_cast<std::uint64_t>(peak);
  const Story fitting = run(input);
  ASSERT_TRUE(std::holds_alternative<Result>(fitting.events.back())) << fitting.output;
  EXPECT_EQ(fitting.result().measured.peak_allocated_bytes, peak);

  input.device.limit_bytes = static_cast<std::uint64_t>(peak) - 1;
  const Story refused = run(input);
  EXPECT_EQ(refused.exit_code, 0);
  const Evidence& evidence = refused.ending().evidence;
  EXPECT_EQ(evidence.kind, EvidenceKind::kDeviceOutOfMemory) << refused.output;
  EXPECT_EQ(evidence.phase,
            Phase::kTimed);  // the second step: optimizer state comes with the first
  EXPECT_EQ(evidence.oom_limit_bytes, peak - 1);
  EXPECT_GT(*evidence.oom_allocated_bytes + *evidence.oom_requested_bytes, peak - 1);
  EXPECT_LE(*evidence.oom_allocated_bytes, peak - 1);
  EXPECT_GT(*evidence.oom_reserved_bytes, 0);
  EXPECT_THAT(evidence.message, HasSubstr("asked for "));
}

INSTANTIATE_TEST_SUITE_P(Models, TrialUnderACap,
                         testing::Combine(testing::Values("resnet18", "bert-tiny"),
                                          testing::Values("fp32", "bf16")));

TEST(Trial, IsOutOfMemoryInSetUpWhereNotEvenTheWeightsFit) {
  auto input = input_of("resnet18", 1);
  input.device.limit_bytes = 10'000'000;
  const Ending ending = run(input).ending();
  EXPECT_EQ(ending.evidence.kind, EvidenceKind::kDeviceOutOfMemory);
  EXPECT_EQ(ending.evidence.phase, Phase::kSetup);
  EXPECT_LE(*ending.measured.peak_allocated_bytes, 10'000'000);
}

TEST(Trial, DivergesWhereTheLossIsNotFinite) {
  auto input = input_of("lenet", 8);
  input.spec.learning_rate = 1e30;
  const Story trial = run(input);
  const Evidence& evidence = trial.ending().evidence;
  EXPECT_EQ(evidence.kind, EvidenceKind::kDiverged) << trial.output;
  EXPECT_EQ(evidence.step, static_cast<std::int64_t>(trial.ending().steps.time_s.size()));
  EXPECT_FALSE(std::isfinite(trial.ending().steps.loss.back()));
  EXPECT_THAT(evidence.message, HasSubstr("learning_rate"));
}

TEST(Trial, TrainsInEveryPrecisionFromTheSameWeights) {
  for (const char* model : {"lenet", "bert-tiny"}) {
    const double fp32 = run(input_of(model, 4)).result().steps.loss.front();
    for (const char* precision : {"bf16", "fp16", "bf16-true"}) {
      const Story trial = run(input_of(model, 4, precision));
      ASSERT_TRUE(std::holds_alternative<Result>(trial.events.back())) << trial.output;
      EXPECT_NEAR(trial.result().steps.loss.front(), fp32, 0.02 * fp32) << model << precision;
      const results::RankRecord& measured = trial.result().measured;
      EXPECT_EQ(*measured.applied_steps + *measured.skipped_steps, 3) << model << precision;
    }
  }
}

TEST(Trial, KeepsFewerBytesWhereTheWeightsAreSmaller) {
  const auto peak = [](const char* precision) {
    auto input = input_of("bert-tiny", 1, precision);
    input.spec.sequence_length = 8;
    return *run(input).result().measured.peak_allocated_bytes;
  };
  EXPECT_LT(peak("bf16-true"), 0.6 * peak("fp32"));
}

TEST(Trial, CountsTheStepsThatTheLossScalerSkips) {
  auto input = input_of("bert-tiny", 1, "fp16");
  input.spec.sequence_length = 4;  // one hidden token: the gradient of its score is the scale
  input.spec.timed_steps = 9;
  const Story trial = run(input);
  ASSERT_TRUE(std::holds_alternative<Result>(trial.events.back())) << trial.output;
  const results::RankRecord& measured = trial.result().measured;
  EXPECT_GT(*measured.skipped_steps, 0);
  EXPECT_GT(*measured.applied_steps, 0);
  EXPECT_EQ(*measured.applied_steps + *measured.skipped_steps, 10);
  for (const double loss : trial.result().steps.loss) EXPECT_LT(loss, 20);  // never scaled
}

struct Option {
  const char* name;
  const char* model;
  void (*set)(sweeps::TrialSpec&);
};
class TrialWithAnOption : public testing::TestWithParam<Option> {};

TEST_P(TrialWithAnOption, Trains) {
  auto input = input_of(GetParam().model, 4);
  input.spec.sequence_length =
      std::string(GetParam().model) == "bert-tiny" ? std::optional<std::int64_t>(32) : std::nullopt;
  GetParam().set(input.spec);
  const Story trial = run(input);
  ASSERT_TRUE(std::holds_alternative<Result>(trial.events.back())) << trial.output;
  EXPECT_EQ(trial.result().measured.applied_steps, 3);
}

using Spec = sweeps::TrialSpec;
const Option kOptions[] = {
    {"adam", "lenet", [](Spec& s) { s.optimizer = "adam"; }},
    {"adamw", "lenet", [](Spec& s) { s.optimizer = "adamw"; }},
    {"sgd", "bert-tiny", [](Spec& s) { s.optimizer = "sgd"; }},
    {"linear_warmup", "lenet", [](Spec& s) { s.schedule = "linear_warmup"; }},
    {"step", "lenet", [](Spec& s) { s.schedule = "step"; }},
    {"cosine", "lenet", [](Spec& s) { s.schedule = "cosine"; }},
    {"one_cycle", "lenet", [](Spec& s) { s.schedule = "one_cycle"; }},
    {"accumulation", "lenet", [](Spec& s) { s.gradient_accumulation_steps = 2; }},
    {"clipping", "bert-tiny", [](Spec& s) { s.clip_grad_norm = 1; }},
    {"channels_last", "lenet", [](Spec& s) { s.memory_format = "channels_last"; }},
    {"checkpointing", "bert-tiny", [](Spec& s) { s.activation_checkpointing = true; }},
    {"checkpointing_images", "lenet", [](Spec& s) { s.activation_checkpointing = true; }},
    {"cudnn_benchmark", "lenet", [](Spec& s) { s.cudnn_benchmark = true; }},
    {"dropout", "bert-tiny", [](Spec& s) { s.dropout = 0.5; }},
    {"math", "bert-tiny", [](Spec& s) { s.attention = "math"; }},
    {"flash", "bert-tiny",
     [](Spec& s) {
       s.attention = "flash";
       s.dropout = 0;
     }},
    {"all_at_once", "bert-tiny",
     [](Spec& s) {
       s.precision = "bf16";
       s.schedule = "cosine";
       s.clip_grad_norm = 1;
       s.gradient_accumulation_steps = 2;
       s.activation_checkpointing = true;
     }},
};
INSTANTIATE_TEST_SUITE_P(Options, TrialWithAnOption, testing::ValuesIn(kOptions),
                         [](const auto& option) { return std::string(option.param.name); });

TEST(Trial, SkipsWhatThisDeviceCannotDo) {
  const Evidence tf32 = run(input_of("lenet", 1, "tf32")).ending().evidence;
  EXPECT_EQ(tf32.kind, EvidenceKind::kSkipped);
  EXPECT_EQ(tf32.reason, results::Reason::kUnsupported);

  auto flash = input_of("bert-tiny", 1);  // which has dropout
  flash.spec.attention = "flash";
  const Evidence no_dropout = run(flash).ending().evidence;
  EXPECT_EQ(no_dropout.kind, EvidenceKind::kSkipped);
  EXPECT_EQ(no_dropout.message, "attention flash has no dropout on CPUs: set dropout = 0");

  auto efficient = input_of("bert-tiny", 1);
  efficient.spec.attention = "efficient";
  EXPECT_EQ(run(efficient).ending().evidence.kind, EvidenceKind::kSkipped);

  auto one_value = input_of("resnet18", 1);
  one_value.spec.data = "fashion-mnist";
  EXPECT_EQ(run(one_value).ending().evidence.kind, EvidenceKind::kSkipped);

  auto cuda = input_of("lenet", 1);
  cuda.device.kind = sweeps::DeviceKind::kCuda;
  cuda.device.type = "H200 SXM";
  if (std::getenv("CUDA_VISIBLE_DEVICES") == nullptr && access("/dev/nvidiactl", F_OK) != 0) {
    EXPECT_EQ(run(cuda).ending().evidence.kind, EvidenceKind::kSkipped);
  }
}

TEST(Trial, FailsWithASentenceWhereTheTrialCannotBe) {
  auto large = input_of("lenet", 70'000);
  large.spec.data = "fashion-mnist";
  const Evidence evidence = run(large).ending().evidence;
  EXPECT_EQ(evidence.kind, EvidenceKind::kFailed);
  EXPECT_EQ(evidence.reason, results::Reason::kException);
  EXPECT_EQ(evidence.phase, Phase::kSetup);
  EXPECT_THAT(evidence.message, HasSubstr("batch size 70000 is more than all 60000 samples"));

  auto two_ranks = input_of("lenet", 1);
  two_ranks.spec.world_size = 2;
  EXPECT_EQ(run(two_ranks).ending().evidence.message,
            "the input of one of 2 ranks names no network: start it with batchsweep run");
}

TEST(Trial, SaysHelloFirstHoweverItEnds) {
  EXPECT_TRUE(std::holds_alternative<Hello>(run(input_of("lenet", 1, "tf32")).events.front()));
  EXPECT_TRUE(std::holds_alternative<Hello>(run(input_of("no-such-model", 1)).events.front()));
}

TEST(Trial, SaysOnStandardErrorHowItIsUsed) {
  for (const char* input : {"", "not json\n", "{}\n", R"({"protocol":99,"trial_id":"x"})"}) {
    const Story trial = run_program(input);
    EXPECT_EQ(trial.exit_code, 2) << input;
    EXPECT_THAT(trial.output, HasSubstr("usage: batchsweep-trial")) << input;
  }
}

}  // namespace
}  // namespace batchsweep::protocol
