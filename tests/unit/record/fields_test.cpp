// SPDX-License-Identifier: Apache-2.0
#include "results/record/fields.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <set>

#include "base/error.hpp"
#include "results/record/record_text.hpp"

namespace batchsweep::results {
namespace {

// Every column that readers of the file may count on.
const char* const kPromised[] = {"run_id",
                                 "trial_id",
                                 "repeat",
                                 "attempt",
                                 "sequence",
                                 "origin",
                                 "site",
                                 "outcome",
                                 "reason",
                                 "message",
                                 "gpu",
                                 "gpu_requested",
                                 "device_name",
                                 "device_memory_bytes",
                                 "memory_cap_bytes",
                                 "reserve_bytes",
                                 "emulated",
                                 "compute_capability",
                                 "hostname",
                                 "host_id",
                                 "software_id",
                                 "slurm_job_id",
                                 "model",
                                 "precision",
                                 "precision_native",
                                 "batch_size",
                                 "global_batch_size",
                                 "world_size",
                                 "num_nodes",
                                 "placement",
                                 "pinned_to",
                                 "optimizer",
                                 "memory_format",
                                 "sequence_length",
                                 "image_height",
                                 "image_width",
                                 "gradient_accumulation_steps",
                                 "activation_checkpointing",
                                 "env",
                                 "seed",
                                 "data",
                                 "runtime",
                                 "parallelism",
                                 "execution",
                                 "cpu_threads",
                                 "torch_version",
                                 "cuda_version",
                                 "cudnn_version",
                                 "nccl_version",
                                 "driver_version",
                                 "num_parameters",
                                 "warmup_steps",
                                 "timed_steps",
                                 "applied_steps",
                                 "skipped_steps",
                                 "samples",
                                 "tokens",
                                 "window_s",
                                 "samples_per_s",
                                 "samples_per_s_per_gpu",
                                 "samples_per_s_ci_low",
                                 "samples_per_s_ci_high",
                                 "tokens_per_s",
                                 "step_time_median_s",
                                 "step_time_p95_s",
                                 "step_time_std_s",
                                 "mfu",
                                 "scaling_efficiency",
                                 "data_wait_s",
                                 "comm_exposed_s",
                                 "comm_overlapped_s",
                                 "comm_bytes_per_step",
                                 "neighbours_max",
                                 "peak_allocated_bytes",
                                 "peak_reserved_bytes",
                                 "peak_device_used_bytes",
                                 "steady_peak_allocated_bytes",
                                 "steady_peak_reserved_bytes",
                                 "rss_peak_bytes",
                                 "oom_requested_bytes",
                                 "oom_allocated_bytes",
                                 "oom_reserved_bytes",
                                 "oom_limit_bytes",
                                 "guilty_rank",
                                 "exit_code",
                                 "signal",
                                 "phase",
                                 "energy_j",
                                 "power_mean_w",
                                 "sm_clock_median_mhz",
                                 "temperature_max_c",
                                 "throttle_reasons",
                                 "loss_first",
                                 "loss_last",
                                 "started_utc",
                                 "duration_s",
                                 "setup_s",
                                 "steps_offset",
                                 "steps_count"};

template <class Record>
std::set<std::string_view> names() {
  std::set<std::string_view> set;
  for (const auto& field : fields_of<Record>()) set.insert(field.name);
  return set;
}

// Gives every member its own value, so that a column that is forgotten or that points to a
// neighbour shows.
template <class Record>
Record filled() {
  Record record;
  int n = 0;
  for (const auto& field : fields_of<Record>()) {
    ++n;
    if (const auto* text = std::get_if<std::string Record::*>(&field.member))
      record.** text = "text" + std::to_string(n);
    if (const auto* number = std::get_if<Number Record::*>(&field.member))
      record.** number = n + 0.1;
    if (const auto* integer = std::get_if<std::int64_t Record::*>(&field.member))
      record.** integer = n;
    if (const auto* flag = std::get_if<bool Record::*>(&field.member)) record.** flag = true;
  }
  return record;
}

AttemptRecord attempt() {
  AttemptRecord attempt;
  attempt.trial = filled<TrialRecord>();
  attempt.ranks = {filled<RankRecord>(), filled<RankRecord>()};
  attempt.ranks[1].rank = 1;
  attempt.steps = {{0, 1, {0.3, 0.1, 0.1 + 0.2}, {2.5, 1e-300, 3}}, {1, 1, {0.25}, {}}};
  attempt.software = filled<SoftwareRecord>();
  attempt.hosts = {filled<HostRecord>()};
  attempt.log = "line\n\"quoted\"\t\\ \x01 gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80";
  return attempt;
}

TEST(Fields, EveryPromisedColumnIsInTheTable) {
  for (const char* name : kPromised) EXPECT_TRUE(names<TrialRecord>().contains(name)) << name;
}

TEST(Fields, EveryMemberOfTheRecordsHasItsRow) {
  // A text takes 32 bytes, an optional double 16, an integer 8: the table accounts for every byte
  // but the flags and their padding.
  const auto bytes = []<class Record>(const Record&) {
    std::size_t sum = 0;
    for (const auto& field : fields_of<Record>()) {
      if (std::holds_alternative<std::string Record::*>(field.member)) sum += sizeof(std::string);
      if (std::holds_alternative<Number Record::*>(field.member)) sum += sizeof(Number);
      if (std::holds_alternative<std::int64_t Record::*>(field.member)) sum += sizeof(std::int64_t);
      if (std::holds_alternative<bool Record::*>(field.member)) sum += sizeof(std::int64_t);
    }
    return sum;
  };
  EXPECT_EQ(bytes(TrialRecord{}), sizeof(TrialRecord));
  EXPECT_EQ(bytes(RankRecord{}), sizeof(RankRecord));
  EXPECT_EQ(bytes(SoftwareRecord{}), sizeof(SoftwareRecord));
  EXPECT_EQ(bytes(HostRecord{}), sizeof(HostRecord));
}

TEST(Fields, NamesAreUniqueAndUnitsStandInTheName) {
  EXPECT_EQ(names<TrialRecord>().size(), fields_of<TrialRecord>().size());
  EXPECT_EQ(names<RankRecord>().size(), fields_of<RankRecord>().size());
  for (const auto& field : fields_of<TrialRecord>()) {
    EXPECT_EQ(field.name.ends_with("_bytes") || field.name == "comm_bytes_per_step",
              field.unit == "bytes")
        << field.name;
    EXPECT_GT(field.meaning.size(), 15U) << field.name;
    EXPECT_EQ(field.meaning.back(), '.') << field.name;
  }
}

TEST(RecordJson, EveryMemberComesBack) {
  EXPECT_EQ(record_from_json<TrialRecord>(record_to_json(filled<TrialRecord>())),
            filled<TrialRecord>());
  EXPECT_EQ(record_from_json<RankRecord>(record_to_json(filled<RankRecord>())),
            filled<RankRecord>());
  EXPECT_EQ(record_from_json<SoftwareRecord>(record_to_json(filled<SoftwareRecord>())),
            filled<SoftwareRecord>());
  EXPECT_EQ(record_from_json<HostRecord>(record_to_json(filled<HostRecord>())),
            filled<HostRecord>());
  EXPECT_EQ(attempt_from_json(to_json(attempt())), attempt());
}

TEST(RecordJson, AbsentIsLeftOutAndComesBackAbsent) {
  SoftwareRecord software;
  software.id = "s";
  EXPECT_EQ(dump(record_to_json(software)), R"({"software_id":"s"})");
  TrialRecord trial;
  clear_record(trial);
  EXPECT_EQ(record_from_json<TrialRecord>(record_to_json(trial)), trial);
  trial.loss_last = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(record_from_json<TrialRecord>(record_to_json(trial)).loss_last, std::nullopt);
  trial.loss_last = -std::numeric_limits<double>::infinity();
  EXPECT_EQ(record_from_json<TrialRecord>(record_to_json(trial)).loss_last, trial.loss_last);
}

TEST(RecordJson, UnknownMembersAreIgnored) {
  const Json json = Json::parse(R"({"new":{"a":[1,{"b":"]}\""}]},"more":null,"rank":7,"last":[]})");
  EXPECT_EQ(record_from_json<RankRecord>(json).rank, 7);
}

TEST(RecordJson, AnotherTypeIsRefused) {
  EXPECT_THROW((void)record_from_json<RankRecord>(Json{{"rank", "seven"}}), ResultsFileError);
  EXPECT_THROW((void)record_from_json<RankRecord>(Json{{"hostname", 7}}), ResultsFileError);
  EXPECT_THROW((void)record_from_json<RankRecord>(Json::array()), ResultsFileError);
}

TEST(RecordText, IsTheTextOfTheJson) {
  std::string text;
  append_json(text, attempt());
  EXPECT_EQ(Json::parse(text), to_json(attempt()));
  std::string trial;
  append_json(trial, attempt().trial);
  EXPECT_EQ(Json::parse(trial), record_to_json(attempt().trial));
}

TEST(RecordText, EveryPrefixIsRefusedWithoutReadingBehindIt) {
  std::string text;
  append_json(text, attempt());
  AttemptRecord out;
  for (std::size_t size = 0; size < text.size(); ++size) {
    const std::string cut = text.substr(0, size);
    JsonCursor cursor(cut);
    EXPECT_THROW(read_json(cursor, out, Detail::kAll), ResultsFileError) << size;
  }
}

TEST(RecordText, BytesThatAreNoTextBecomeReplacementCharacters) {
  std::string out;
  append_json_text(out, std::string_view("a\xff\0b", 4));
  EXPECT_EQ(out,
            "\"a\xEF\xBF\xBD\xE2\x90\x80"
            "b\"");
}

TEST(RecordText, TheTrialAndItsSoftwareCanBeReadAlone) {
  std::string text;
  append_json(text, attempt());
  AttemptRecord out;
  JsonCursor cursor(text);
  read_json(cursor, out, Detail::kTrial);
  EXPECT_EQ(out.trial, attempt().trial);
  EXPECT_EQ(out.software, attempt().software);
  EXPECT_TRUE(out.ranks.empty() && out.steps.empty() && out.hosts.empty() && out.log.empty());
}

TEST(RecordText, StepsThatWereNotTimedStayUnknown) {
  AttemptRecord a;
  a.steps = {{0, 0, {std::nan(""), 1}, {std::numeric_limits<double>::infinity(), 2}}};
  std::string text;
  append_json(text, a);
  AttemptRecord out;
  JsonCursor cursor(text);
  read_json(cursor, out, Detail::kAll);
  ASSERT_EQ(out.steps.size(), 1U);
  EXPECT_TRUE(std::isnan(out.steps[0].time_s[0]));
  EXPECT_EQ(out.steps[0].loss, a.steps[0].loss);
}

}  // namespace
}  // namespace batchsweep::results
