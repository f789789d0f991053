// SPDX-License-Identifier: Apache-2.0
#include "worker/agent/trial_watch.hpp"

#include <gmock/gmock.h>

#include <csignal>

namespace batchsweep::agent {
namespace {

using protocol::Evidence;
using protocol::EvidenceKind;
using results::Phase;
using results::Reason;
using testing::HasSubstr;

constexpr sweeps::TrialLimits kLimits{.time_s = 1000, .setup_s = 100, .stall_s = 10};
const char* const kHello = R"({"event":"hello","protocol":1})";
const char* const kResult = R"({"event":"result","measured":{"samples":8}})";

Instant at(double s) { return Instant{} + seconds(s); }

// A watch that has heard these lines, one a second from second 1 on.
TrialWatch heard(const std::vector<std::string>& lines) {
  TrialWatch watch(kLimits, at(0));
  double s = 0;
  for (const std::string& line : lines) watch.on_line(line, at(++s));
  return watch;
}
std::string phase(const char* name) {
  return fmt::format(R"({{"event":"phase","phase":"{}"}})", name);
}
std::string step(int n, double time_s = 0.5) {
  return fmt::format(R"({{"event":"step","step":{},"time_s":{}}})", n, time_s);
}
ExitStatus exited(int code) { return {.exit_code = code, .signal = std::nullopt}; }
ExitStatus signalled(int number) { return {.exit_code = std::nullopt, .signal = number}; }
Evidence verdict(const TrialWatch& watch, const ExitStatus& status, const char* partial_line = "") {
  return watch.evidence(status, partial_line, 64.0 * 1024 * 1024);
}

TEST(TrialWatch, AResultAndExitCodeZeroIsCompletion) {
  const auto watch = heard(
      {kHello, phase("warmup"), step(1), phase("timed"), step(2), phase("teardown"), kResult});
  const Evidence evidence = verdict(watch, exited(0));
  EXPECT_EQ(evidence.kind, EvidenceKind::kCompleted);
  EXPECT_EQ(evidence.reason, Reason::kNone);
  EXPECT_EQ(evidence.phase, Phase::kTeardown);
  EXPECT_EQ(watch.measured().samples, 8);
  EXPECT_EQ(watch.steps().time_s, (std::vector<double>{0.5, 0.5}));
  EXPECT_EQ(watch.steps().warmup_steps, 1);
}

TEST(TrialWatch, EveryDeathHasItsEvidence) {
  struct Case {
    std::vector<std::string> lines;
    ExitStatus status;
    const char* partial_line;
    EvidenceKind kind;
    Reason reason;
    const char* message;
  };
  const std::vector<std::string> in_step_3 = {kHello, phase("timed"), step(1), step(2)};
  const std::vector<std::string> with_result = {kHello, phase("timed"), step(1), step(2), kResult};
  ExitStatus kernel = signalled(SIGKILL);
  kernel.kernel_oom = true;
  for (const Case& c : std::vector<Case>{
           {in_step_3, exited(0), "", EvidenceKind::kCrashed, Reason::kNoResult,
            "without a result"},
           {in_step_3, exited(3), "", EvidenceKind::kCrashed, Reason::kExitCode,
            "exit code 3 in phase timed, after step 2"},
           {in_step_3, signalled(SIGSEGV), "", EvidenceKind::kCrashed, Reason::kSignal,
            "signal 11 (SIGSEGV)"},
           {in_step_3, signalled(SIGKILL), "", EvidenceKind::kCrashed, Reason::kSignal,
            "signal 9 (SIGKILL)"},
           {in_step_3, signalled(SIGBUS), "", EvidenceKind::kCrashed, Reason::kSignal,
            "/dev/shm here holds 64.0 MiB"},
           {in_step_3, kernel, "", EvidenceKind::kHostOutOfMemory, Reason::kSignal,
            "out-of-memory killer"},
           {in_step_3, exited(0), R"({"event":"st)", EvidenceKind::kCrashed, Reason::kNoResult,
            R"('{"event":"st')"},
           {in_step_3, signalled(SIGABRT), R"({"ev)", EvidenceKind::kCrashed, Reason::kSignal,
            R"('{"ev')"},
           {with_result, exited(1), "", EvidenceKind::kCrashed, Reason::kExitCode, "exit code 1"},
           {with_result, signalled(SIGSEGV), "", EvidenceKind::kCrashed, Reason::kSignal,
            "SIGSEGV"},
           {with_result, exited(0), "{", EvidenceKind::kCrashed, Reason::kNoResult, "'{'"},
           {{},
            exited(0),
            "",
            EvidenceKind::kFailed,
            Reason::kProtocol,
            "without one event: is it a program that speaks the trial protocol"},
           {{}, exited(127), "", EvidenceKind::kCrashed, Reason::kExitCode, "in phase launch"},
       }) {
    const Evidence evidence = verdict(heard(c.lines), c.status, c.partial_line);
    EXPECT_EQ(evidence.kind, c.kind) << evidence.message;
    EXPECT_EQ(evidence.reason, c.reason) << evidence.message;
    EXPECT_THAT(evidence.message, HasSubstr(c.message));
    EXPECT_EQ(evidence.exit_code.has_value(),
              c.status.exit_code.has_value() && !c.status.kernel_oom);
    if (c.status.signal && !c.status.kernel_oom) {
      EXPECT_EQ(evidence.signal, *c.status.signal);
    }
  }
}

TEST(TrialWatch, ItsOwnAccountOfTheEndCountsHoweverItLeaves) {
  const std::string oom =
      R"({"event":"out_of_memory","evidence":{"phase":"warmup","message":"no room","step":1,"oom_limit_bytes":5}})";
  for (const ExitStatus& status : {exited(0), exited(1), signalled(SIGSEGV), signalled(SIGKILL)}) {
    auto watch = heard({kHello, phase("warmup"), oom});
    watch.kill_requested("another rank failed");
    const Evidence evidence = verdict(watch, status);
    EXPECT_EQ(evidence.kind, EvidenceKind::kDeviceOutOfMemory);
    EXPECT_EQ(evidence.oom_limit_bytes, 5);
    EXPECT_EQ(evidence.step, 1);
    EXPECT_EQ(evidence.message, "no room");
  }
}

TEST(TrialWatch, ABreachOfTheProtocolIsAFailureThatNamesTheLine) {
  struct Case {
    std::vector<std::string> lines;
    const char* message;
  };
  const std::string newer = R"({"event":"hello","protocol":2})";
  for (const Case& c : std::vector<Case>{
           {{"Segmentation fault"}, "'Segmentation fault'"},
           {{kHello, phase("timed"), "\x01\x02garbage"}, "garbage"},
           {{step(1)}, "did not say hello first"},
           {{newer}, "speaks trial protocol 2"},
           {{kHello, kHello}, "hello twice"},
           {{kHello, phase("timed"), phase("setup")}, "phase setup began after phase timed"},
           {{kHello, step(2), step(2)}, "step 2 was reported after step 2"},
           {{kHello, kResult, kResult}, "after the ending"},
           {{kHello, kResult, step(1)}, "after the ending"},
       }) {
    auto watch = heard(c.lines);
    const auto fault = watch.fault(at(20));
    ASSERT_TRUE(fault) << c.message;
    EXPECT_EQ(fault->kind, EvidenceKind::kFailed);
    EXPECT_EQ(fault->reason, Reason::kProtocol);
    EXPECT_THAT(fault->message, HasSubstr(c.message));
    EXPECT_EQ(verdict(watch, signalled(SIGKILL)), *fault);  // killed for it: still the protocol
    EXPECT_EQ(verdict(watch, exited(0)), *fault);
  }
}

TEST(TrialWatch, SetUpHasALimitUntilTheFirstStepIsFinished) {
  auto watch = heard({kHello, phase("warmup")});
  EXPECT_EQ(watch.next_deadline(), at(100));
  EXPECT_FALSE(watch.fault(at(99.9)));
  const auto fault = watch.fault(at(100));
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, EvidenceKind::kTimedOut);
  EXPECT_EQ(fault->reason, Reason::kSetupLimit);
  EXPECT_EQ(fault->phase, Phase::kWarmup);
  EXPECT_FALSE(fault->step);

  auto stepped = heard({kHello, phase("warmup"), step(1)});
  stepped.on_line(step(2), at(99));
  EXPECT_FALSE(stepped.fault(at(101)));
}

TEST(TrialWatch, AStallCountsFromTheLastFinishedStep) {
  auto watch = heard({kHello, phase("timed"), step(1),
                      step(2)});  // the last at 4 s, steps of 0.5 s: 20 medians are 10 s too
  EXPECT_EQ(watch.next_deadline(), at(14));
  EXPECT_FALSE(watch.fault(at(13.9)));
  const auto fault = watch.fault(at(14));
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, EvidenceKind::kTimedOut);
  EXPECT_EQ(fault->reason, Reason::kStall);
  EXPECT_EQ(fault->phase, Phase::kTimed);
  EXPECT_EQ(fault->step, 2);
}

TEST(TrialWatch, LongStepsAreNoStall) {
  auto watch = heard({kHello, phase("timed"), step(1, 2.0), step(2, 1.9),
                      step(3, 90.0)});  // median 2 s: 40 s of patience
  EXPECT_FALSE(watch.fault(at(5 + 39.9)));
  EXPECT_EQ(watch.next_deadline(), at(5 + 40));
  ASSERT_TRUE(watch.fault(at(5 + 40)));
}

TEST(TrialWatch, NothingEscapesTheTimeLimit) {
  auto watch = heard({kHello, phase("timed")});
  for (int n = 1; n < 1000; ++n) watch.on_line(step(n), at(n));
  EXPECT_FALSE(watch.fault(at(999.5)));
  const auto fault = watch.fault(at(1000));
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->reason, Reason::kTimeLimit);
  EXPECT_EQ(fault->step, 999);
}

TEST(TrialWatch, ATrialThatDoesNotLeaveAfterItsResultIsTimedOut) {
  auto watch = heard({kHello, phase("timed"), step(1), phase("teardown"), kResult});
  ASSERT_TRUE(watch.fault(at(15)));
  EXPECT_EQ(verdict(watch, signalled(SIGKILL)).reason, Reason::kStall);
  EXPECT_EQ(verdict(watch, signalled(SIGKILL)).phase, Phase::kTeardown);
}

TEST(TrialWatch, AKilledTrialIsKilledNotCrashed) {
  auto watch = heard({kHello, phase("timed"), step(1)});
  watch.kill_requested("the sweep was stopped");
  EXPECT_FALSE(watch.fault(at(1e6)));  // it is on its way already
  EXPECT_EQ(verdict(watch, signalled(SIGKILL)).kind, EvidenceKind::kKilled);
  EXPECT_EQ(verdict(watch, signalled(SIGKILL)).message, "the sweep was stopped");
  // It was faster than our signal.
  EXPECT_EQ(verdict(watch, signalled(SIGSEGV)).kind, EvidenceKind::kCrashed);
  watch.on_line(kResult, at(5));
  EXPECT_EQ(verdict(watch, exited(0)).kind, EvidenceKind::kCompleted);
}

}  // namespace
}  // namespace batchsweep::agent
