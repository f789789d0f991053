// SPDX-License-Identifier: Apache-2.0
// The agent's state machine with a launcher that starts nothing and a clock that stands still.
#include "worker/agent/agent.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <csignal>

#include "base/error.hpp"
#include "worker/protocol/trial_input.hpp"

namespace batchsweep::agent {
namespace {

using protocol::AgentMessage;
using protocol::EvidenceKind;
using protocol::RankEnded;
using results::Reason;
using testing::HasSubstr;
using testing::IsEmpty;

// What a test sees and decides of one process.
struct Script {
  LaunchRequest request;
  std::vector<std::string> lines;
  std::vector<std::string> given;  // second lines
  std::string partial_line, output = "what it printed";
  std::optional<ExitStatus> status;
  int kills = 0;
  bool unkillable = false, destroyed = false;
};

class FakeProcess final : public Process {
 public:
  FakeProcess(std::shared_ptr<Script> script, int pid) : script_(std::move(script)), pid_(pid) {}
  ~FakeProcess() override { script_->destroyed = true; }
  [[nodiscard]] int pid() const override { return pid_; }
  [[nodiscard]] std::vector<int> descriptors() const override { return {pid_}; }
  [[nodiscard]] std::vector<std::string> take_event_lines() override {
    return std::exchange(script_->lines, {});
  }
  [[nodiscard]] std::string partial_line() const override { return script_->partial_line; }
  void give_line(std::string_view line) override { script_->given.emplace_back(line); }
  [[nodiscard]] std::optional<ExitStatus> poll_exit() override { return script_->status; }
  bool kill_tree() override {
    ++script_->kills;
    if (script_->unkillable) return false;
    if (!script_->status)
      script_->status = ExitStatus{.exit_code = std::nullopt, .signal = SIGKILL};
    return true;
  }
  [[nodiscard]] std::string output() const override { return script_->output; }

 private:
  std::shared_ptr<Script> script_;
  int pid_;
};

class FakeLauncher final : public Launcher {
 public:
  [[nodiscard]] std::unique_ptr<Process> launch(const LaunchRequest& request) override {
    if (!refusal.empty()) throw IoError(refusal);
    scripts.push_back(std::make_shared<Script>(Script{.request = request}));
    return std::make_unique<FakeProcess>(scripts.back(), 100 + static_cast<int>(scripts.size()));
  }
  std::vector<std::shared_ptr<Script>> scripts;
  std::string refusal;
};

const char* const kHello =
    R"({"event":"hello","protocol":1,"software":{"program":"p"},"execution":"eager"})";
const char* const kResult = R"({"event":"result","measured":{"samples":8}})";

class AgentTest : public testing::Test {
 protected:
  AgentTest() {
    (void)agent.start(clock.now());
    agent.handle(protocol::Welcome{.file_id = "file", .beat_s = 1, .lease_s = 5}, clock.now());
  }
  static AgentConfig config() {
    AgentConfig config{.build_id = "b",
                       .host = {.id = "h", .hostname = "n1", .cpus_allowed = "0-3"},
                       .notices = {"hello"}};
    config.devices = {{.index = 0,
                       .type = "small",
                       .uuid = "cpu-0",
                       .driver_name = "CPU",
                       .limit_bytes = 1000,
                       .threads = 2},
                      {.index = 1,
                       .type = "H100",
                       .kind = sweeps::DeviceKind::kCuda,
                       .uuid = "GPU-1",
                       .driver_name = "NVIDIA H100",
                       .pci_bus_id = "0:1",
                       .driver_version = "580",
                       .limit_bytes = 2000,
                       .threads = 4}};
    config.trial_program = "/bs/batchsweep-trial";
    config.environment = {{"NCCL_DEBUG", "WARN"}, {"HOME", "/root"}};
    return config;
  }
  static protocol::StartRanks start(std::uint64_t trial,
                                    std::vector<protocol::RankLaunch> ranks = {{}}) {
    protocol::StartRanks message{.key = {{trial}, 0, 2}, .ranks = std::move(ranks)};
    message.input = to_json(protocol::TrialInput{.trial_id = "x"});
    message.limits = {.time_s = 1000, .setup_s = 100, .stall_s = 10};
    return message;
  }
  // Time passes, the orchestrator being heard of.
  std::vector<AgentMessage> after(double s) {
    clock.advance(seconds(s));
    agent.handle(protocol::Beat{}, clock.now());
    agent.advance(clock.now());
    return agent.take_outgoing();
  }
  // The ends among the messages of this moment.
  std::vector<RankEnded> ends(double s = 0) {
    std::vector<RankEnded> found;
    for (AgentMessage& message : after(s)) {
      if (auto* end = std::get_if<RankEnded>(&message)) found.push_back(std::move(*end));
    }
    return found;
  }
  Script& script(std::size_t index) { return *launcher.scripts.at(index); }

  FakeClock clock;
  FakeLauncher launcher;
  Agent agent{config(), launcher};
};

TEST_F(AgentTest, RegistersWithHostDevicesAndNotices) {
  const auto message = std::get<protocol::Register>(Agent(config(), launcher).start(clock.now()));
  EXPECT_EQ(message.build_id, "b");
  EXPECT_EQ(message.host.hostname, "n1");
  EXPECT_EQ(message.devices.size(), 2U);
  EXPECT_EQ(message.notices, std::vector<std::string>{"hello"});
}

TEST_F(AgentTest, GivesEachRankItsOwnPartOfTheInput) {
  auto message = start(
      5, {{.rank = 2, .local_rank = 0, .device = 1}, {.rank = 3, .local_rank = 1, .device = 0}});
  message.input["play"] = Json::array({Json(), Json(), "script of 2", "script of 3"});
  message.env = {{"NCCL_ALGO", "Ring"}};
  agent.handle(message, clock.now());
  ASSERT_EQ(launcher.scripts.size(), 2U);
  const LaunchRequest& request = script(0).request;
  EXPECT_EQ(request.command, std::vector<std::string>{"/bs/batchsweep-trial"});
  EXPECT_EQ(request.attempt_tag, "file:0000000000000005:0:2:2");
  EXPECT_EQ(request.visible_devices, "GPU-1");
  EXPECT_EQ(request.env.at("NCCL_ALGO"), "Ring");
  const Json input = Json::parse(request.input_line);
  EXPECT_EQ(input["rank"], 2);
  EXPECT_EQ(input["local_rank"], 0);
  EXPECT_EQ(input["attempt"], 2);
  EXPECT_EQ(input["play"], "script of 2");
  EXPECT_EQ(dump(input["device"]),
            R"({"kind":"cuda","type":"H100","uuid":"GPU-1","limit_bytes":2000,"threads":4})");
  EXPECT_EQ(script(1).request.visible_devices, "");
  EXPECT_EQ(Json::parse(script(1).request.input_line)["play"], "script of 3");
}

TEST_F(AgentTest, TellsWhereRankZeroWaitsAndLeadsTheOthersThere) {
  auto message = start(5, {{.rank = 0, .local_rank = 0, .local_world_size = 2, .device = 0},
                           {.rank = 1, .local_rank = 1, .local_world_size = 2, .device = 1}});
  message.network.emplace();
  agent.handle(message, clock.now());
  const Json input = Json::parse(script(1).request.input_line);
  EXPECT_EQ(input["local_world_size"], 2);
  EXPECT_EQ(dump(input["network"]), R"({"address":"127.0.0.1","interface":"lo"})");
  EXPECT_FALSE(script(0).request.second_line);
  EXPECT_TRUE(script(1).request.second_line);

  script(0).lines = {kHello, R"({"event":"rendezvous","host":"127.0.0.1","port":40000})"};
  const protocol::RendezvousOpened opened{message.key, {"127.0.0.1", 40000}};
  EXPECT_EQ(after(0), std::vector<AgentMessage>{opened});
  EXPECT_EQ(after(0), std::vector<AgentMessage>{}) << "told once";

  agent.handle(protocol::Meet{message.key, opened.at}, clock.now());
  agent.handle(protocol::Meet{{{6}, 0, 2}, {"10.0.0.1", 1}}, clock.now());
  EXPECT_EQ(script(0).given, std::vector<std::string>{});
  EXPECT_EQ(script(1).given,
            std::vector<std::string>{R"({"rendezvous":{"host":"127.0.0.1","port":40000}})"});
}

TEST_F(AgentTest, AProcessThatOpensASecondRendezvousDoesNotSpeakTheProtocol) {
  agent.handle(start(5), clock.now());
  const char* line = R"({"event":"rendezvous","host":"127.0.0.1","port":40000})";
  script(0).lines = {kHello, line, line};
  const auto all = ends();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].evidence.reason, Reason::kProtocol);
  EXPECT_THAT(all[0].evidence.message, HasSubstr("second rendezvous"));
}

TEST_F(AgentTest, ReportsAnEndOnceWithItsPlaceSoftwareAndOutput) {
  auto message = start(5, {{.rank = 0, .device = 1}});
  message.env = {{"NCCL_ALGO", "Ring"}};
  agent.handle(message, clock.now());
  script(0).lines = {kHello, kResult};
  EXPECT_THAT(ends(), IsEmpty());  // it lives still
  script(0).status = ExitStatus{.exit_code = 0, .signal = std::nullopt, .rss_peak_bytes = 77};
  const auto all = ends();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].evidence.kind, EvidenceKind::kCompleted);
  EXPECT_EQ(all[0].measured.samples, 8);
  EXPECT_EQ(all[0].measured.pid, 101);
  EXPECT_EQ(all[0].measured.rss_peak_bytes, 77);
  EXPECT_EQ(all[0].measured.cpus_allowed, "0-3");
  EXPECT_EQ(all[0].measured.device_uuid, "GPU-1");
  EXPECT_EQ(all[0].software.driver_version, "580");
  EXPECT_EQ(all[0].software.environment, "NCCL_ALGO=Ring\nNCCL_DEBUG=WARN\n");
  EXPECT_EQ(all[0].software.id.size(), 16U);
  EXPECT_EQ(all[0].log, "what it printed");
  EXPECT_TRUE(script(0).destroyed);
  EXPECT_FALSE(agent.busy());
  EXPECT_THAT(ends(), IsEmpty());
}

TEST_F(AgentTest, WhatCannotBeLaunchedFailsInPhaseLaunch) {
  const auto failure = [&](const protocol::StartRanks& message) {
    agent.handle(message, clock.now());
    const auto all = ends();
    EXPECT_EQ(all.size(), 1U);
    EXPECT_EQ(all.at(0).evidence.kind, EvidenceKind::kFailed);
    EXPECT_EQ(all.at(0).evidence.reason, Reason::kLaunch);
    EXPECT_EQ(all.at(0).evidence.phase, results::Phase::kLaunch);
    return all.at(0).evidence.message;
  };
  EXPECT_THAT(failure(start(1, {{.device = 9}})), HasSubstr("no device 9"));
  auto player = start(2);
  player.player = true;
  EXPECT_THAT(failure(player), HasSubstr("batchsweep-player is neither beside batchsweep"));
  auto broken = start(3);
  broken.input["play"] = Json::array();
  EXPECT_FALSE(failure(broken).empty());
  launcher.refusal = "cannot start x: Permission denied";
  EXPECT_EQ(failure(start(4)), launcher.refusal);
}

TEST_F(AgentTest, KillsWhatIsOverItsLimitAtTheDeadlineItNamed) {
  agent.handle(start(1), clock.now());
  script(0).lines = {kHello};
  EXPECT_THAT(ends(99), IsEmpty());
  EXPECT_EQ(script(0).kills, 0);
  EXPECT_LE(agent.until_next_deadline(clock.now()), seconds(1));
  const auto all = ends(1);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].evidence.kind, EvidenceKind::kTimedOut);
  EXPECT_EQ(all[0].evidence.reason, Reason::kSetupLimit);
  EXPECT_GE(script(0).kills, 1);
}

TEST_F(AgentTest, KillsAProcessThatBreaksTheProtocolAtOnce) {
  agent.handle(start(1), clock.now());
  script(0).lines = {kHello, "what is this"};
  const auto all = ends();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].evidence.reason, Reason::kProtocol);
  EXPECT_THAT(all[0].evidence.message, HasSubstr("'what is this'"));
  EXPECT_GE(script(0).kills, 1);
}

TEST_F(AgentTest, KillAttemptEndsAllItsRanksAndNoOther) {
  agent.handle(start(1, {{.rank = 0, .device = 0}, {.rank = 1, .device = 1}}), clock.now());
  agent.handle(start(2), clock.now());
  agent.handle(protocol::KillAttempt{{{1}, 0, 2}}, clock.now());
  EXPECT_EQ(script(0).kills, 1);  // before anything else happens
  EXPECT_EQ(script(1).kills, 1);
  const auto all = ends();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].evidence.kind, EvidenceKind::kKilled);
  EXPECT_EQ(all[1].evidence.kind, EvidenceKind::kKilled);
  EXPECT_EQ(script(2).kills, 0);
}

TEST_F(AgentTest, ALostLeaseKillsEverythingAndTheAgentIsDone) {
  agent.handle(start(1), clock.now());
  clock.advance(seconds(4.9));
  agent.advance(clock.now());
  EXPECT_EQ(script(0).kills, 0);
  clock.advance(seconds(0.1));
  (void)agent.take_outgoing();
  agent.advance(clock.now());
  EXPECT_GE(script(0).kills, 1);
  EXPECT_TRUE(agent.shut_down());
  EXPECT_THAT(agent.take_outgoing(), IsEmpty());  // nobody is there to be told
  agent.handle(start(2), clock.now());
  EXPECT_EQ(launcher.scripts.size(), 1U);
}

TEST_F(AgentTest, AnyWordFromTheOrchestratorRenewsTheLease) {
  agent.handle(start(1), clock.now());
  for (int i = 0; i < 10; ++i) EXPECT_THAT(ends(4), IsEmpty());
  EXPECT_FALSE(agent.shut_down());
}

TEST_F(AgentTest, AnAgentThatIsNeverWelcomedGivesUp) {
  Agent lonely(config(), launcher);
  (void)lonely.start(clock.now());
  clock.advance(seconds(59));
  lonely.advance(clock.now());
  EXPECT_FALSE(lonely.shut_down());
  clock.advance(seconds(1));
  lonely.advance(clock.now());
  EXPECT_TRUE(lonely.shut_down());
}

TEST_F(AgentTest, ShutdownKillsAndAnswersNothingMore) {
  agent.handle(start(1), clock.now());
  agent.handle(protocol::Shutdown{}, clock.now());
  EXPECT_EQ(script(0).kills, 1);
  EXPECT_FALSE(agent.shut_down());  // not before it is gone
  agent.advance(clock.now());
  EXPECT_TRUE(agent.shut_down());
  EXPECT_THAT(agent.take_outgoing(), IsEmpty());
}

TEST_F(AgentTest, BeatsInTime) {
  EXPECT_LE(agent.until_next_deadline(clock.now()), seconds(1));
  EXPECT_THAT(after(0.9), IsEmpty());
  EXPECT_EQ(after(0.1), std::vector<AgentMessage>{protocol::Beat{}});
  EXPECT_THAT(after(0.5), IsEmpty());
}

TEST_F(AgentTest, TellsProgressOnceASecondAndOnlyWhenThereIsSome) {
  agent.handle(start(1), clock.now());
  const auto progress = [&](double s) {
    std::vector<std::int64_t> steps;
    for (const AgentMessage& message : after(s)) {
      if (const auto* p = std::get_if<protocol::RankProgress>(&message)) steps.push_back(p->step);
    }
    return steps;
  };
  script(0).lines = {kHello, R"({"event":"step","step":1,"time_s":0.1})"};
  EXPECT_THAT(progress(0.5), IsEmpty());
  script(0).lines = {R"({"event":"step","step":2,"time_s":0.1})"};
  EXPECT_EQ(progress(0.5), std::vector<std::int64_t>{2});
  script(0).lines = {R"({"event":"step","step":3,"time_s":0.1})"};
  EXPECT_THAT(progress(0.9), IsEmpty());
  EXPECT_EQ(progress(0.1), std::vector<std::int64_t>{3});
  EXPECT_THAT(progress(2), IsEmpty());
}

TEST_F(AgentTest, AProcessThatCannotBeKilledCostsItsDeviceAndNothingElse) {
  agent.handle(start(1), clock.now());
  script(0).unkillable = true;
  agent.handle(protocol::KillAttempt{{{1}, 0, 2}}, clock.now());
  EXPECT_THAT(ends(1.9), IsEmpty());
  const auto all = ends(0.1);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].evidence.kind, EvidenceKind::kTimedOut);
  EXPECT_THAT(all[0].evidence.message, HasSubstr("process 101 cannot be killed"));
  EXPECT_FALSE(agent.busy());

  agent.handle(start(2), clock.now());
  const auto refused = ends();
  ASSERT_EQ(refused.size(), 1U);
  EXPECT_EQ(refused[0].evidence.kind, EvidenceKind::kSkipped);
  EXPECT_EQ(refused[0].evidence.reason, Reason::kDeviceNotClean);
  agent.handle(start(3, {{.device = 1}}), clock.now());  // the other device goes on
  EXPECT_EQ(launcher.scripts.size(), 2U);

  script(0).unkillable = false;  // at last
  EXPECT_THAT(ends(1), IsEmpty());
  agent.handle(start(4), clock.now());
  EXPECT_EQ(launcher.scripts.size(), 3U);
}

// An agent that looks at its card before each trial; `answer` is what the driver shows.
class CheckedAgentTest : public AgentTest {
 protected:
  CheckedAgentTest() {
    (void)checked.start(clock.now());
    checked.handle(protocol::Welcome{.file_id = "file", .beat_s = 1, .lease_s = 1000}, clock.now());
    checked.handle(start(1, {{.rank = 0, .device = 1}, {.rank = 1, .device = 0}}), clock.now());
  }
  static AgentConfig config_with_probe() {
    AgentConfig changed = config();
    changed.probe_program = "/bs/batchsweep";
    changed.devices[1].memory_bytes = 2000;
    return changed;
  }
  void answer(std::size_t probe, const std::string& uuid, const std::string& processes = "") {
    script(probe).output = fmt::format(
        R"({{"gpus":[{{"uuid":"{}","driver_name":"NVIDIA H100","pci_bus_id":"0:1","compute_capability":"9.0",)"
        R"("driver_version":"580","memory_bytes":2000,"used_bytes":0,"processes":[{}],"prohibited":false}}],"notices":[]}})",
        uuid, processes);
    script(probe).status = ExitStatus{.exit_code = 0, .signal = std::nullopt};
  }
  std::vector<RankEnded> passed(double s) {
    clock.advance(seconds(s));
    checked.advance(clock.now());
    std::vector<RankEnded> found;
    for (AgentMessage& message : checked.take_outgoing()) {
      if (auto* end = std::get_if<RankEnded>(&message)) found.push_back(std::move(*end));
    }
    return found;
  }
  Agent checked{config_with_probe(), launcher};
};

TEST_F(CheckedAgentTest, StartsTheRanksOnceTheCardIsSeenToBeFit) {
  ASSERT_EQ(launcher.scripts.size(), 1U);
  EXPECT_EQ(script(0).request.command, (std::vector<std::string>{"/bs/batchsweep", "probe"}));
  EXPECT_TRUE(checked.busy());
  EXPECT_EQ(checked.descriptors(), std::vector<int>{101});
  answer(0, "GPU-1");
  EXPECT_THAT(passed(0.1), IsEmpty());
  ASSERT_EQ(launcher.scripts.size(), 3U);
  EXPECT_EQ(script(1).request.command, std::vector<std::string>{"/bs/batchsweep-trial"});
}

TEST_F(CheckedAgentTest, ACardThatIsGoneIsSkippedAtOnceAndNoRankStarts) {
  answer(0, "GPU-2");
  const auto all = passed(0.1);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].evidence.kind, EvidenceKind::kSkipped);
  EXPECT_EQ(all[0].evidence.reason, Reason::kDeviceAbsent);
  EXPECT_EQ(all[0].evidence.phase, results::Phase::kLaunch);
  EXPECT_EQ(all[1].evidence.kind, EvidenceKind::kKilled);
  EXPECT_EQ(launcher.scripts.size(), 1U);
  EXPECT_FALSE(checked.busy());
}

TEST_F(CheckedAgentTest, WhatIsStillInUseIsLookedAtAgainForFiveSeconds) {
  for (std::size_t look = 0; look < 10; ++look) {
    ASSERT_EQ(launcher.scripts.size(), look + 1);
    answer(look, "GPU-1", R"("process 7")");
    EXPECT_THAT(passed(0), IsEmpty()) << look;
    EXPECT_LE(checked.until_next_deadline(clock.now()), seconds(0.5));
    EXPECT_THAT(passed(0.5), IsEmpty());
  }
  answer(10, "GPU-1", R"("process 7")");
  const auto all = passed(0);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].evidence.reason, Reason::kDeviceNotClean);
  EXPECT_EQ(all[0].evidence.message, "GPU-1 is in use by process 7");
}

TEST_F(CheckedAgentTest, WhatLeavesInTimeCostsNothing) {
  answer(0, "GPU-1", R"("process 7")");
  (void)passed(0);
  (void)passed(0.5);
  answer(1, "GPU-1");
  EXPECT_THAT(passed(0), IsEmpty());
  EXPECT_EQ(launcher.scripts.size(), 4U) << "two looks, two ranks";
}

TEST_F(CheckedAgentTest, ADriverThatDoesNotAnswerCostsTheDevice) {
  script(0).unkillable = true;
  EXPECT_THAT(passed(9.9), IsEmpty());
  const auto all = passed(0.1);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].evidence.reason, Reason::kDeviceNotClean);
  EXPECT_THAT(all[0].evidence.message, HasSubstr("did not answer within 10 s"));
}

TEST_F(CheckedAgentTest, AKilledAttemptIsNotStartedAfterTheLook) {
  checked.handle(protocol::KillAttempt{{{1}, 0, 2}}, clock.now());
  const auto all = passed(0);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].evidence.kind, EvidenceKind::kKilled);
  EXPECT_TRUE(script(0).destroyed);
  EXPECT_EQ(launcher.scripts.size(), 1U);
}

TEST_F(CheckedAgentTest, PlayedTrialsAndCpusAreNotLookedAt) {
  protocol::StartRanks played = start(2, {{.device = 1}});
  played.player = true;
  checked.handle(played, clock.now());
  checked.handle(start(3, {{.device = 0}}), clock.now());
  ASSERT_EQ(launcher.scripts.size(), 2U) << "no program to play with here, and one trial";
  EXPECT_EQ(script(1).request.command, std::vector<std::string>{"/bs/batchsweep-trial"});
}

TEST_F(CheckedAgentTest, TwoRanksOnOneCardDoNotStart) {
  checked.handle(start(2, {{.rank = 0, .device = 1}, {.rank = 1, .device = 1}}), clock.now());
  answer(1, "GPU-1");
  std::vector<RankEnded> all;
  for (double t = 0; t < 6 && all.empty(); t += 0.5) {
    all = passed(0.5);
    if (all.empty()) answer(launcher.scripts.size() - 1, "GPU-1");
  }
  ASSERT_EQ(all.size(), 2U);
  EXPECT_THAT(all[1].evidence.message, HasSubstr("two ranks of this trial are to run on GPU-1"));
}

TEST_F(AgentTest, WatchesTheDescriptorsOfWhatLives) {
  agent.handle(start(1), clock.now());
  EXPECT_EQ(agent.descriptors(), std::vector<int>{101});
  script(0).status = ExitStatus{.exit_code = 1, .signal = std::nullopt};
  EXPECT_EQ(ends().size(), 1U);
  EXPECT_THAT(agent.descriptors(), IsEmpty());
}

}  // namespace
}  // namespace batchsweep::agent
