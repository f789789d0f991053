// SPDX-License-Identifier: Apache-2.0
#include "worker/protocol/trial_events.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <cmath>
#include <limits>

#include "base/error.hpp"
#include "base/unique_handle.hpp"
#include "worker/protocol/event_writer.hpp"

namespace batchsweep::protocol {
namespace {

using testing::HasSubstr;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TrialEvent round_trip(const TrialEvent& event) {
  std::string line = encode_line(event);
  EXPECT_EQ(line.find('\n'), line.size() - 1) << line;
  line.pop_back();
  return decode_line(line);
}

TEST(TrialEvents, EachComesBackAsItWas) {
  results::RankRecord measured;
  measured.samples = 320;
  measured.peak_allocated_bytes = 123456789012.0;
  measured.loss_last = 0.1;
  const results::StepTimes steps{
      .rank = 1, .warmup_steps = 1, .time_s = {0.1, 0.3}, .loss = {2, 1.5}};
  Hello hello;
  hello.software.program = "batchsweep-player 0.1.0";
  hello.software.torch_version = "2.11.0";
  hello.precision_native = false;
  hello.execution = "scripted";
  const Evidence oom{.kind = EvidenceKind::kDeviceOutOfMemory,
                     .phase = results::Phase::kWarmup,
                     .message = "asked for \"much\"\n",
                     .step = 1,
                     .oom_requested_bytes = 1,
                     .oom_allocated_bytes = 2,
                     .oom_reserved_bytes = 3,
                     .oom_limit_bytes = 4};
  for (const TrialEvent& event : std::vector<TrialEvent>{
           hello, Hello{}, PhaseBegan{results::Phase::kTeardown}, Rendezvous{"fd00::1", 65535},
           StepDone{3, 0.125, 2.5}, StepDone{4, 1e-9, std::nullopt}, StepDone{5, 0, -1e300},
           Result{measured, steps}, Result{}, Ending{oom, measured, steps},
           Ending{{.kind = EvidenceKind::kSkipped, .reason = results::Reason::kUnsupported},
                  {},
                  {}}}) {
    EXPECT_EQ(round_trip(event), event) << encode_line(event);
  }
}

TEST(TrialEvents, TheRendezvousOfTheOtherRanksIsALineOfItsOwn) {
  const Rendezvous at{"10.0.0.3", 40001};
  EXPECT_EQ(rendezvous_line(at), R"({"rendezvous":{"host":"10.0.0.3","port":40001}})");
  EXPECT_EQ(read_rendezvous_line(rendezvous_line(at)), at);
  for (const char* line : {"", "{}", "[1]", R"({"rendezvous":{"host":"n1"}})"})
    EXPECT_THROW((void)read_rendezvous_line(line), ProtocolError) << line;
}

TEST(TrialEvents, EveryKindOfEndingThatATrialCanTellHasAWord) {
  for (const EvidenceKind kind :
       {EvidenceKind::kDeviceOutOfMemory, EvidenceKind::kHostOutOfMemory, EvidenceKind::kDiverged,
        EvidenceKind::kFailed, EvidenceKind::kSkipped, EvidenceKind::kLostPeer}) {
    const TrialEvent event = Ending{{.kind = kind}, {}, {}};
    EXPECT_EQ(round_trip(event), event);
  }
}

TEST(TrialEvents, NumbersThatAreNoneTravelAsNull) {
  const auto step = std::get<StepDone>(round_trip(StepDone{2, kNan, kNan}));
  EXPECT_TRUE(std::isnan(step.time_s));
  EXPECT_TRUE(step.loss && std::isnan(*step.loss));
  const auto result = std::get<Result>(round_trip(Result{{}, {.time_s = {0.5, kNan}}}));
  ASSERT_EQ(result.steps.time_s.size(), 2U);
  EXPECT_EQ(result.steps.time_s[0], 0.5);
  EXPECT_TRUE(std::isnan(result.steps.time_s[1]));
}

TEST(TrialEvents, AStepWrittenByHandIsReadAsWell) {
  const TrialEvent expected = StepDone{7, 0.5, 1.0};
  EXPECT_EQ(decode_line(R"({"event":"step","step":7,"time_s":0.5,"loss":1})"), expected);
  EXPECT_EQ(
      decode_line(R"( { "time_s": 0.5, "loss": 1.0, "step": 7, "event": "step", "more": [] } )"),
      expected);
}

TEST(TrialEvents, WhatIsNoEventIsQuoted) {
  for (const char* line : {"hello world", "", "{}", "[1]", R"({"event":7})", R"({"event":"step"})",
                           R"({"event":"stop"})", R"({"event":"phase","phase":"lunch"})",
                           R"({"event":"step","step":1,"time_s":0.5)",
                           R"({"event":"crashed","evidence":{"phase":"timed"}})"}) {
    EXPECT_THAT([&] { (void)decode_line(line); },
                testing::ThrowsMessage<ProtocolError>(HasSubstr(std::string("'") + line + "'")))
        << line;
  }
  const std::string long_line(5000, 'x');
  EXPECT_THAT(
      [&] { (void)decode_line(long_line); },
      testing::ThrowsMessage<ProtocolError>(testing::AllOf(
          HasSubstr("xxx...' (5000 bytes)"), testing::Not(HasSubstr(std::string(200, 'x'))))));
}

TEST(EventWriter, DropsStepsWhenNobodyReadsAndCountsThem) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const UniqueFd reader(ends[0]), writer_end(ends[1]);
  setenv("BATCHSWEEP_EVENT_FD", std::to_string(ends[1]).c_str(), 1);
  EventWriter writer;
  unsetenv("BATCHSWEEP_EVENT_FD");
  ASSERT_EQ(writer.fd(), ends[1]);
  int written = 0;
  while (writer.dropped() < 10 && written < 100'000) {
    writer.write(StepDone{++written, 0.5, 1.0});
  }
  EXPECT_EQ(writer.dropped(), 10);
  EXPECT_GT(written, 100);  // the pipe took some
}

TEST(EventWriter, LaterLinesKeepTheirOrder) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const UniqueFd reader(ends[0]), writer_end(ends[1]);
  setenv("BATCHSWEEP_EVENT_FD", std::to_string(ends[1]).c_str(), 1);
  EventWriter writer;
  unsetenv("BATCHSWEEP_EVENT_FD");
  const StepDone first{1, 0.5, std::nullopt}, second{2, 0.5, std::nullopt},
      third{3, 0.5, std::nullopt};
  writer.write_later(first);
  writer.write(second);
  writer.write_later(third);
  writer.flush();
  char buffer[1024];
  const ssize_t size = read(ends[0], buffer, sizeof buffer);
  EXPECT_EQ(std::string(buffer, static_cast<std::size_t>(size)),
            encode_line(first) + encode_line(second) + encode_line(third));
}

}  // namespace
}  // namespace batchsweep::protocol
