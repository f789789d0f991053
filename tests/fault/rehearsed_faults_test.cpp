// SPDX-License-Identifier: Apache-2.0
// Every fault of a rehearsal that one rank can have, played by a real process under a real agent.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <csignal>

#include "process_checks.hpp"
#include "worker/agent/agent.hpp"
#include "worker/protocol/trial_input.hpp"

namespace batchsweep::agent {
namespace {

using protocol::EvidenceKind;
using protocol::RankEnded;
using results::Phase;
using results::Reason;
using sweeps::Fault;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::uint64_t kLimitBytes = 1000;

// An agent with four devices and its loop.
struct RealAgent {
  RealAgent() {
    AgentConfig config{.build_id = "test",
                       .host = {.id = "h1", .hostname = "here", .shm_bytes = 64 << 20},
                       .player_program = PLAYER};
    for (int i = 0; i < 4; ++i) {
      config.devices.push_back({.index = i,
                                .type = "small",
                                .uuid = fmt::format("cpu-{}", i),
                                .driver_name = "Test CPU",
                                .limit_bytes = kLimitBytes,
                                .threads = 2});
    }
    agent = std::make_unique<Agent>(std::move(config), *launcher);
    (void)agent->start(system_clock().now());
    agent->handle(protocol::Welcome{.file_id = "file", .beat_s = 1, .lease_s = 1000},
                  system_clock().now());
  }

  void start(std::uint64_t trial, const sweeps::PlayScript& script,
             sweeps::TrialLimits limits = {}) {
    protocol::TrialInput input{.trial_id = sweeps::to_text(sweeps::TrialId{trial})};
    input.spec.batch_size = 8;
    input.spec.warmup_steps = 1;
    protocol::StartRanks message{.key = {{trial}, 0, 1},
                                 .ranks = {{.device = static_cast<int>(trial % 4)}},
                                 .player = true,
                                 .input = to_json(input),
                                 .limits = limits};
    message.input["play"] = Json::array({to_json(script)});
    agent->handle(message, system_clock().now());
  }

  // Steps the agent as the program's loop does, until so many ranks have ended.
  std::vector<RankEnded> ended(std::size_t count) {
    std::vector<RankEnded> all;
    EXPECT_TRUE(eventually([&] {
      std::vector<pollfd> wanted;
      for (const int fd : agent->descriptors()) wanted.push_back({fd, POLLIN, 0});
      const auto wait = std::chrono::duration_cast<std::chrono::milliseconds>(
          agent->until_next_deadline(system_clock().now()));
      poll(wanted.data(), wanted.size(), static_cast<int>(std::min<long>(wait.count(), 10)));
      agent->advance(system_clock().now());
      for (auto& message : agent->take_outgoing()) {
        if (auto* end = std::get_if<RankEnded>(&message)) all.push_back(std::move(*end));
      }
      return all.size() >= count;
    }));
    return all;
  }

  std::unique_ptr<Launcher> launcher = make_process_launcher();
  std::unique_ptr<Agent> agent;
};

sweeps::PlayScript script_with(Fault fault) {
  return {.step_times_s = {0.001, 0.001, 0.001, 0.001},
          .allocated_bytes = 600,
          .reserved_bytes = 700,
          .fault = fault,
          .fault_exit_code = 3};
}

struct Case {
  Fault fault;
  EvidenceKind kind;
  Reason reason;
  std::optional<std::int64_t> exit_code, signal;
  const char* message;
};
const std::vector<Case> kCases = {
    {Fault::kNone, EvidenceKind::kCompleted, Reason::kNone, 0, {}, ""},
    {Fault::kGrandchild, EvidenceKind::kCompleted, Reason::kNone, 0, {}, ""},
    {Fault::kHang, EvidenceKind::kTimedOut, Reason::kStall, {}, {}, "after step 1"},
    {Fault::kStop, EvidenceKind::kTimedOut, Reason::kStall, {}, {}, "after step 1"},
    {Fault::kSegfault, EvidenceKind::kCrashed, Reason::kSignal, {}, SIGSEGV, "SIGSEGV"},
    {Fault::kKill, EvidenceKind::kCrashed, Reason::kSignal, {}, SIGKILL, "SIGKILL"},
    {Fault::kHostOom, EvidenceKind::kCrashed, Reason::kSignal, {}, SIGKILL, "SIGKILL"},
    {Fault::kBusError,
     EvidenceKind::kCrashed,
     Reason::kSignal,
     {},
     SIGBUS,
     "/dev/shm here holds 64.0 MiB"},
    {Fault::kExit, EvidenceKind::kCrashed, Reason::kExitCode, 3, {}, "exit code 3"},
    {Fault::kHalfLine,
     EvidenceKind::kCrashed,
     Reason::kSignal,
     {},
     SIGKILL,
     R"(in the middle of the event line '{"event":"step","st')"},
    {Fault::kGarbage,
     EvidenceKind::kFailed,
     Reason::kProtocol,
     {},
     {},
     "'Warning: this line is no event'"},
    {Fault::kNanLoss, EvidenceKind::kDiverged, Reason::kNone, {}, {}, "loss of step 2"},
    {Fault::kOom, EvidenceKind::kDeviceOutOfMemory, Reason::kNone, {}, {}, "limit is 1000"},
};

TEST(RehearsedFaults, EachEndsWithItsEvidenceAndLeavesNothing) {
  RealAgent real;
  for (const Case& c : kCases) {
    SCOPED_TRACE(to_text(c.fault));
    real.start(42, script_with(c.fault), {.stall_s = 0.2});
    const auto all = real.ended(1);
    ASSERT_EQ(all.size(), 1U);
    const RankEnded& end = all.front();
    EXPECT_EQ(end.evidence.kind, c.kind);
    EXPECT_EQ(end.evidence.reason, c.reason);
    EXPECT_EQ(end.evidence.exit_code, c.exit_code);
    EXPECT_EQ(end.evidence.signal, c.signal);
    EXPECT_THAT(end.evidence.message, HasSubstr(c.message));
    if (c.kind != EvidenceKind::kCompleted) {
      EXPECT_EQ(end.evidence.phase, Phase::kTimed);
    }
    EXPECT_FALSE(real.agent->busy());
    EXPECT_THAT(tagged_processes(kAttemptVariable, "file:000000000000002a:0:1:0"), IsEmpty());
    EXPECT_THAT(own_children(), IsEmpty());
  }
}

TEST(RehearsedFaults, AllAtOnceOnFourDevicesKeepApart) {
  RealAgent real;
  const int descriptors_before = open_descriptors();
  for (std::size_t i = 0; i < kCases.size(); ++i)
    real.start(i, script_with(kCases[i].fault), {.stall_s = 0.2});
  const auto all = real.ended(kCases.size());
  ASSERT_EQ(all.size(), kCases.size());
  for (const RankEnded& end : all) {
    const Case& c = kCases.at(end.key.trial.value);
    EXPECT_EQ(end.evidence.kind, c.kind) << to_text(c.fault) << ": " << end.evidence.message;
  }
  EXPECT_EQ(open_descriptors(), descriptors_before);
  EXPECT_TRUE(eventually([&] {
    real.launcher->tend();
    return own_children().empty();
  }));
}

TEST(RehearsedFaults, ACompletedRankBringsAllThatWasMeasured) {
  RealAgent real;
  real.start(7, script_with(Fault::kNone));
  const RankEnded end = real.ended(1).at(0);
  EXPECT_EQ(end.steps.time_s, (std::vector<double>{0.001, 0.001, 0.001, 0.001}));
  EXPECT_EQ(end.steps.warmup_steps, 1);
  EXPECT_EQ(end.measured.samples, 3 * 8);
  EXPECT_EQ(end.measured.peak_allocated_bytes, 600);
  EXPECT_EQ(end.measured.peak_reserved_bytes, 700);
  EXPECT_EQ(end.measured.trial_id, "0000000000000007");
  EXPECT_EQ(end.measured.outcome, "completed");
  EXPECT_EQ(end.measured.hostname, "here");
  EXPECT_EQ(end.measured.device_uuid, "cpu-3");
  EXPECT_EQ(end.measured.device_name, "Test CPU");
  EXPECT_EQ(end.measured.cpu_threads, 2);
  EXPECT_GT(end.measured.pid, 1);
  EXPECT_EQ(end.execution, "played");
  EXPECT_THAT(end.software.program, HasSubstr("batchsweep-player"));
  EXPECT_EQ(end.software.id.size(), 16U);
}

TEST(RehearsedFaults, TheDeviceLimitDecidesWhatFits) {
  RealAgent real;
  sweeps::PlayScript script = script_with(Fault::kNone);
  script.reserved_bytes = kLimitBytes;
  real.start(1, script);
  EXPECT_EQ(real.ended(1).at(0).evidence.kind, EvidenceKind::kCompleted);
  script.reserved_bytes = kLimitBytes + 1;
  real.start(2, script);
  const RankEnded end = real.ended(1).at(0);
  EXPECT_EQ(end.evidence.kind, EvidenceKind::kDeviceOutOfMemory);
  EXPECT_EQ(end.evidence.phase, Phase::kWarmup);
  EXPECT_EQ(end.evidence.step, 1);
  EXPECT_EQ(*end.evidence.oom_requested_bytes + *end.evidence.oom_allocated_bytes, 600);
  EXPECT_EQ(end.measured.oom_limit_bytes, kLimitBytes);
  EXPECT_EQ(end.measured.oom_reserved_bytes, kLimitBytes);
}

TEST(RehearsedFaults, AHangBeforeTheFirstStepIsCaughtByTheSetUpLimit) {
  RealAgent real;
  sweeps::PlayScript script = script_with(Fault::kHang);
  script.fault_step = 1;
  real.start(1, script, {.setup_s = 0.2});
  EXPECT_EQ(real.ended(1).at(0).evidence.reason, Reason::kSetupLimit);
}

TEST(RehearsedFaults, AKilledAttemptAndAShutdownLeaveNothing) {
  RealAgent real;
  sweeps::PlayScript script = script_with(Fault::kGrandchild);
  script.step_times_s = {0.001, 1000};
  script.fault_step = 1;
  for (const std::uint64_t trial : {1U, 2U, 3U}) real.start(trial, script);
  real.agent->handle(protocol::KillAttempt{{{2}, 0, 1}}, system_clock().now());
  const RankEnded end = real.ended(1).at(0);
  EXPECT_EQ(end.key.trial.value, 2U);
  EXPECT_EQ(end.evidence.kind, EvidenceKind::kKilled);
  EXPECT_THAT(tagged_processes(kAttemptVariable, "file:0000000000000002:0:1:0"), IsEmpty());
  real.agent->handle(protocol::Shutdown{}, system_clock().now());
  EXPECT_TRUE(eventually([&] {
    real.agent->advance(system_clock().now());
    return real.agent->shut_down();
  }));
  EXPECT_THAT(own_children(), IsEmpty());
  EXPECT_THAT(real.agent->take_outgoing(), IsEmpty());
}

}  // namespace
}  // namespace batchsweep::agent
