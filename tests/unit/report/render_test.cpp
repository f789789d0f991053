// SPDX-License-Identifier: Apache-2.0
// The report as it is read: literal pages from a small sweep.
#include "results/report/render.hpp"

#include <gmock/gmock.h>

#include <algorithm>

#include "tests/unit/report/sample_trials.hpp"

namespace batchsweep::results {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;
constexpr double kMiB = 1048576;

// One device and model: batches 1, 2, 4 ... that fit in `cap`, and the first that does not.
void add_series(std::vector<TrialRecord>& trials, const std::string& gpu, const std::string& model,
                double cap_mib, double fixed_mib, double per_sample_mib, double t0, double t1) {
  for (std::int64_t batch = 4;; batch *= 2) {
    const double peak = fixed_mib + per_sample_mib * static_cast<double>(batch);
    TrialRecord trial = with_step_time(sample_trial(batch), t0, t1);
    trial.gpu = trial.gpu_requested = gpu;
    trial.model = model;
    trial.optimizer = model == "bert-tiny" ? "adamw" : "sgd";
    if (model == "bert-tiny") trial.sequence_length = 128;
    if (model == "bert-tiny") trial.tokens_per_s = *trial.samples_per_s * 128;
    trial.memory_cap_bytes = cap_mib * kMiB;
    trial.peak_allocated_bytes = peak * kMiB;
    trial.peak_reserved_bytes = peak * 1.05 * kMiB;
    if (peak > cap_mib) {
      trial.outcome = "out_of_memory";
      trial.oom_requested_bytes = 64 * kMiB;
      trial.oom_allocated_bytes = (cap_mib - 30) * kMiB;
      trial.oom_reserved_bytes = (cap_mib - 10) * kMiB;
    }
    trials.push_back(trial);
    if (peak > cap_mib) return;
  }
}

Report small_report() {
  std::vector<TrialRecord> trials;
  add_series(trials, "cpu-small", "resnet18", 600, 100, 12, 0.02, 0.01);
  add_series(trials, "cpu-small", "bert-tiny", 600, 40, 8, 0.05, 0.004);
  add_series(trials, "cpu-large", "resnet18", 1200, 100, 12, 0.02, 0.01);
  add_series(trials, "cpu-large", "bert-tiny", 1200, 40, 8, 0.05, 0.004);
  TrialRecord crashed = sample_trial(4);
  crashed.gpu = "cpu-large";
  crashed.model = "resnet18";
  crashed.memory_cap_bytes = 1200 * kMiB;
  crashed.repeat = 1;
  crashed.trial_id = "00000000000000ff";
  crashed.outcome = "crashed";
  crashed.reason = "signal";
  crashed.phase = "timed";
  crashed.signal = 11;
  crashed.guilty_rank = 0;
  crashed.attempt = 3;
  crashed.message = "died by signal 11 (SIGSEGV)";
  trials.push_back(crashed);
  for (std::size_t i = 0; i < trials.size(); ++i)
    trials[i].sequence = static_cast<std::int64_t>(i + 1);
  Report report = answer(
      gather(trials, {{"gpu", {"cpu-small", "cpu-large"}}, {"model", {"resnet18", "bert-tiny"}}}),
      "");
  report.files.push_back({.path = "demo.h5",
                          .sweep_name = "demo",
                          .run_id = "run-1",
                          .created_utc = "2026-05-04T03:02:01Z",
                          .site = ""});
  return report;
}

TEST(RenderedReport, AsText) {
  EXPECT_EQ(render_text(small_report()), R"(Sweep demo, demo.h5, run run-1 of 2026-05-04T03:02:01Z
Numbers are of LibTorch in eager mode (execution = eager), as PyTorch without torch.compile.
For all rows: precision fp32; activation_checkpointing false; data synthetic; device_name EPYC;
  gradient_accumulation_steps 1; optimizer sgd (resnet18), adamw (bert-tiny); origin measured; seed
  1; sequence_length 128 (bert-tiny); torch_version 2.11.0; world_size 1.

Outcomes
outcome        trials
completed          20
out_of_memory       4
crashed             1

Failures
  more about one: batchsweep explain FILE TRIAL
gpu        model     batch             trial  repeat  attempt  outcome  evidence                             message
cpu-large  resnet18      4  00000000000000ff       1        3  crashed  signal, in timed, signal 11, rank 0  died by signal 11 (SIGSEGV)

Largest batch (samples per rank and micro-step; peaks of the largest that fits)
gpu        model      fits  out of memory at  exact  peak_allocated  peak_reserved    limit
cpu-small  resnet18     32                64  no            484 MiB        508 MiB  600 MiB
cpu-small  bert-tiny    64               128  no            552 MiB        580 MiB  600 MiB
cpu-large  resnet18     64               128  no            868 MiB        911 MiB  1.2 GiB
cpu-large  bert-tiny   128               256  no            1.0 GiB        1.1 GiB  1.2 GiB

Throughput (best batch of each; of all ranks)
gpu        model      samples/s   95 % interval  tokens/s  batch  relative  to
cpu-small  resnet18       94.12  93.18 to 95.06               32      1.00  cpu-small
cpu-small  bert-tiny      209.2  207.1 to 211.2     26771     64      1.00  cpu-small
cpu-large  resnet18       96.97  96.00 to 97.94               64      1.03  cpu-small
cpu-large  bert-tiny      227.8  225.5 to 230.0     29153    128      1.09  cpu-small

Relative throughput (geometric mean over common models)
gpu        relative  to         models
cpu-small      1.00  cpu-small  resnet18, bert-tiny
cpu-large      1.06  cpu-small  resnet18, bert-tiny

Memory (peak_allocated against the batch)
  The line through the larger half of the batches; worst error over all that completed.
gpu        model          fixed  per sample  worst error  points     fitted
cpu-small  resnet18     100 MiB    12.0 MiB        0.0 %       4   16 to 32
cpu-small  bert-tiny   40.0 MiB     8.0 MiB        0.0 %       5   16 to 64
cpu-large  resnet18   100.0 MiB    12.0 MiB        0.0 %       5   16 to 64
cpu-large  bert-tiny   40.0 MiB     8.0 MiB        0.0 %       6  32 to 128

What limits: memory or compute
  last doubling: gain in throughput over the last doubling of the batch that fits, measured.
  buys: gain that twice the memory would bring, predicted. Both with 95 % intervals.
gpu        model      limited by  last doubling  twice the memory          buys  of the asymptote  because
cpu-small  resnet18   compute      +5.9 ± 5.5 %  batch 70          +3.3 ± 1.2 %              94 %  a larger batch would bring less than 5 %
cpu-small  bert-tiny  memory      +16.3 ± 6.0 %  batch 132         +9.2 ± 1.6 %              84 %  the rate still grows at batch 64, where memory ends
cpu-large  resnet18   compute      +3.0 ± 5.3 %  batch 133         +1.6 ± 1.0 %              97 %  a larger batch would bring less than 5 %
cpu-large  bert-tiny  undecided    +8.9 ± 5.6 %  batch 260         +4.7 ± 1.2 %              91 %  the gain is not clearly above or below 5 %
)");
}

TEST(RenderedReport, AsSummary) {
  EXPECT_EQ(render_summary(small_report()),
            R"(Sweep demo, demo.h5, run run-1 of 2026-05-04T03:02:01Z
Numbers are of LibTorch in eager mode (execution = eager), as PyTorch without torch.compile.
25 trials: 20 completed, 4 out_of_memory, 1 crashed
first failure: 00000000000000ff crashed: died by signal 11 (SIGSEGV)
cpu-small resnet18: fits 32, not 64; 94.12 samples/s at 32; limited by compute
cpu-small bert-tiny: fits 64, not 128; 209.2 samples/s at 64; limited by memory, twice of it: +9 %
cpu-large resnet18: fits 64, not 128; 96.97 samples/s at 64 (1.03 of cpu-small); limited by compute
cpu-large bert-tiny: fits 128, not 256; 227.8 samples/s at 128 (1.09 of cpu-small)
)");
}

TEST(RenderedReport, TheSummaryNeverHasMoreThanFifteenLines) {
  std::vector<TrialRecord> trials;
  for (int gpu = 0; gpu < 40; ++gpu)
    add_series(trials, fmt::format("gpu {}", gpu), "resnet18", 600, 100, 12, 0.02, 0.01);
  const std::string summary = render_summary(answer(gather(trials), ""));
  EXPECT_EQ(std::count(summary.begin(), summary.end(), '\n'), 15);
  EXPECT_THAT(summary, HasSubstr("and 28 more"));
}

TEST(RenderedReport, AsMarkdownHasTheSameTables) {
  const std::string text = render_markdown(small_report());
  for (const Section& section : sections(small_report())) {
    EXPECT_THAT(text, HasSubstr("## " + section.title));
    EXPECT_THAT(text, HasSubstr(render(section.table, TableFormat::kMarkdown)));
  }
  EXPECT_THAT(text, HasSubstr("sequence\\_length 128 (bert-tiny)"));
}

TEST(RenderedReport, AsJsonHasTheAnswersUnderTheirNames) {
  const Json json = report_json(small_report());
  std::vector<std::string> keys;
  for (const auto& [key, value] : json.items()) keys.push_back(key);
  EXPECT_THAT(keys, ElementsAre("files", "execution", "notices", "outcomes", "largest_batch",
                                "throughput", "memory", "scaling", "verdicts"));
  EXPECT_EQ(json["outcomes"]["counts"]["completed"], 20);
  EXPECT_EQ(json["outcomes"]["counts"]["lost"], 0);
  EXPECT_EQ(json["outcomes"]["failures"][0]["signal"], 11);
  EXPECT_EQ(json["largest_batch"][0]["max_batch_fit"], 32);
  EXPECT_EQ(json["largest_batch"][0]["min_batch_oom"], 64);
  EXPECT_EQ(json["largest_batch"][0]["optimizer"],
            "sgd");  // every axis, whatever the tables leave out
  EXPECT_TRUE(json["largest_batch"][0]["peak_device_used_bytes"].is_null());
  EXPECT_EQ(dump(json["largest_batch"][0]["peak_allocated_bytes"]), "507510784");
  EXPECT_EQ(json["throughput"]["best"][2]["reference"], "cpu-small");
  EXPECT_NEAR(json["memory"][0]["bytes_per_sample"].get<double>(), 12 * kMiB, 1);
  EXPECT_TRUE(json["scaling"].is_array() && json["scaling"].empty());
  EXPECT_EQ(json["verdicts"][1]["limited_by"], "memory");
}

TEST(RenderedReport, AsCsvIsOneTableWithARowPerGroup) {
  const std::string text = render_csv(small_report());
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 5);
  const std::string header = text.substr(0, text.find('\n'));
  const std::string first =
      text.substr(header.size() + 1, text.find('\n', header.size() + 1) - header.size() - 1);
  EXPECT_EQ(std::count(first.begin(), first.end(), ','),
            std::count(header.begin(), header.end(), ','));
  EXPECT_THAT(header, StartsWith("gpu,model,precision,"));
  EXPECT_THAT(first, StartsWith("cpu-small,resnet18,fp32,"));
  EXPECT_THAT(first, HasSubstr(",32,64,false,507510784,532886323.20000005,,629145600,"));
}

TEST(RenderedReport, SaysWhatWasPlayedAndWhatIsEmulated) {
  std::vector<TrialRecord> trials;
  add_series(trials, "RTX 2080 Ti", "resnet18", 600, 100, 12, 0.02, 0.01);
  for (TrialRecord& trial : trials) {
    trial.origin = "rehearsed";
    trial.emulated = true;
    trial.device_name = "NVIDIA H200";
  }
  const Report report = answer(gather(trials), "");
  EXPECT_THAT(heading(report), Contains(HasSubstr("REHEARSED")));
  EXPECT_THAT(heading(report), Contains(HasSubstr("RTX 2080 Ti is emulated on NVIDIA H200")));
  EXPECT_EQ(report_json(report)["throughput"]["best"][0]["emulated"], true);
}

TEST(RenderedReport, NothingRecordedIsAnAnswerToo) {
  const std::string text = render_text(answer(gather({}), ""));
  EXPECT_THAT(text, HasSubstr("no rows"));
}

TEST(RenderedReport, AMessageOfSeveralLinesStaysInItsRow) {
  TrialRecord failed = sample_trial(8);
  failed.outcome = "failed";
  failed.message = "first\nsecond";
  const std::string text = render_text(answer(gather({failed}), ""));
  EXPECT_THAT(text, HasSubstr("first second\n"));
}

TEST(RenderedReport, RatesHaveFourDigits) {
  EXPECT_EQ(format_rate(12345.6), "12346");
  EXPECT_EQ(format_rate(1234.5), "1234");
  EXPECT_EQ(format_rate(99.99), "99.99");
  EXPECT_EQ(format_rate(0.012341), "0.01234");
  EXPECT_EQ(format_rate(0), "0");
}

}  // namespace
}  // namespace batchsweep::results
