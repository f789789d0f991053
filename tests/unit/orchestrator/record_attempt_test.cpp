// SPDX-License-Identifier: Apache-2.0
#include "orchestrator/record_attempt.hpp"

#include <gmock/gmock.h>

#include "orchestrator/start_message.hpp"
#include "orchestrator/supported.hpp"

namespace batchsweep::orchestrator {
namespace {

using protocol::EvidenceKind;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;

// Two ranks of bert-tiny on two hosts; rank 1 ran out of memory.
class RecordAttemptTest : public testing::Test {
 protected:
  RecordAttemptTest() {
    for (const int host : {1, 2}) {
      protocol::Register registration;
      registration.host.hostname = "n" + std::to_string(host);
      registration.host.id = "id" + std::to_string(host);
      protocol::DeviceOffer offer;
      offer.index = 4;
      offer.type = "RTX 2080 Ti";
      offer.kind = sweeps::DeviceKind::kCuda;
      offer.uuid = "GPU-" + std::to_string(host);
      offer.driver_name = "NVIDIA H200";
      offer.pci_bus_id = "00:01";
      offer.compute_capability = "9.0";
      offer.driver_version = "580";
      offer.memory_bytes = 140ull << 30;
      offer.cap_bytes = 11ull << 30;
      offer.reserve_bytes = 1ull << 30;
      offer.limit_bytes = 10ull << 30;
      offer.threads = 4;
      offer.emulated = true;
      registration.devices = {offer};
      cluster_.join(host, registration, {});
      (void)cluster_.claim(host, {});
    }
    attempt_.key = {.trial = {0xabc}, .repeat = 1, .attempt = 2};
    attempt_.spec.gpu = "RTX 2080 Ti";
    attempt_.spec.model = attempt_.spec.model_source = "bert-tiny";
    attempt_.spec.data = "synthetic";
    attempt_.spec.batch_size = 8;
    attempt_.spec.world_size = 2;
    attempt_.spec.gradient_accumulation_steps = 4;
    attempt_.spec.env = {{"A", "1"}, {"B", "x"}};
    attempt_.neighbours_max = 3;
    attempt_.ranks.resize(2);
    for (std::size_t rank = 0; rank < 2; ++rank) {
      attempt_.ranks[rank].device = static_cast<DeviceId>(rank);
      attempt_.ranks[rank].agent = static_cast<int>(rank) + 1;
    }
  }
  void end(std::size_t rank, EvidenceKind kind, const std::string& log) {
    protocol::RankEnded ended;
    ended.rank = static_cast<std::int64_t>(rank);
    ended.evidence.kind = kind;
    ended.evidence.phase = results::Phase::kWarmup;
    ended.evidence.message = log;
    ended.log = log;
    ended.steps.time_s = {0.5};
    ended.execution = "eager";
    ended.measured.peak_allocated_bytes = 5;
    attempt_.ranks[rank].ended = ended;
  }
  [[nodiscard]] results::AttemptRecord record(bool stopping = false) const {
    std::vector<RankEvidence> evidence;
    for (const RankState& rank : attempt_.ranks)
      evidence.push_back({rank.ended->rank, rank.ended->evidence});
    return record_attempt(attempt_, judge(evidence, stopping), cluster_, "home",
                          attempt_.started + seconds(12));
  }

  Cluster cluster_;
  Attempt attempt_;
};

TEST_F(RecordAttemptTest, SaysWhichAndWhereAndWhat) {
  end(0, EvidenceKind::kCompleted, "fine");
  end(1, EvidenceKind::kCompleted, "fine");
  const results::TrialRecord row = record().trial;
  EXPECT_EQ(row.trial_id, "0000000000000abc");
  EXPECT_EQ(row.repeat, 1);
  EXPECT_EQ(row.attempt, 2);
  EXPECT_EQ(row.site, "home");
  EXPECT_EQ(row.outcome, "completed");
  EXPECT_EQ(row.guilty_rank, std::nullopt);
  EXPECT_EQ(row.gpu, "RTX 2080 Ti");
  EXPECT_EQ(row.gpu_requested, "RTX 2080 Ti");
  EXPECT_EQ(row.device_name, "NVIDIA H200");
  EXPECT_EQ(row.device_memory_bytes, 140 * kGiB);
  EXPECT_EQ(row.memory_cap_bytes, 11 * kGiB);
  EXPECT_EQ(row.reserve_bytes, kGiB);
  EXPECT_TRUE(row.emulated);
  EXPECT_EQ(row.compute_capability, "9.0");
  EXPECT_EQ(row.driver_version, "580");
  EXPECT_EQ(row.hostname, "n1");
  EXPECT_EQ(row.host_id, "id1");
  EXPECT_EQ(row.batch_size, 8);
  EXPECT_EQ(row.global_batch_size, 64);
  EXPECT_EQ(row.optimizer, "adamw") << "the default of a model of language";
  EXPECT_EQ(row.sequence_length, 128);
  EXPECT_EQ(row.image_height, std::nullopt);
  EXPECT_EQ(row.env, "A=1 B=x");
  EXPECT_EQ(row.parallelism, "ddp");
  EXPECT_EQ(row.execution, "") << "no software, no word on how";
  EXPECT_EQ(row.cpu_threads, 4);
  EXPECT_EQ(row.neighbours_max, 3);
  EXPECT_EQ(row.duration_s, 12);
}

TEST_F(RecordAttemptTest, SaysWhatTheGuiltyRankRanOutOfAndShowsItsLogFirst) {
  end(0, EvidenceKind::kKilled, "quiet");
  end(1, EvidenceKind::kDeviceOutOfMemory, "too much");
  attempt_.ranks[1].ended->evidence.oom_requested_bytes = 7;
  attempt_.ranks[1].ended->evidence.oom_limit_bytes = 9;
  const results::AttemptRecord whole = record();
  EXPECT_EQ(whole.trial.outcome, "out_of_memory");
  EXPECT_EQ(whole.trial.guilty_rank, 1);
  EXPECT_EQ(whole.trial.message, "too much");
  EXPECT_EQ(whole.trial.phase, "warmup");
  EXPECT_EQ(whole.trial.oom_requested_bytes, 7);
  EXPECT_EQ(whole.trial.oom_limit_bytes, 9);
  EXPECT_EQ(whole.log, "== rank 1, guilty\ntoo much\n== rank 0\nquiet");
}

TEST_F(RecordAttemptTest, HasOneRowARankAndOneAHost) {
  end(0, EvidenceKind::kKilled, "");
  end(1, EvidenceKind::kCrashed, "");
  attempt_.ranks[1].ended->evidence.signal = 9;
  const results::AttemptRecord whole = record();
  ASSERT_THAT(whole.ranks, SizeIs(2));
  EXPECT_EQ(whole.ranks[1].rank, 1);
  EXPECT_EQ(whole.ranks[1].trial_id, "0000000000000abc");
  EXPECT_EQ(whole.ranks[1].attempt, 2);
  EXPECT_EQ(whole.ranks[1].hostname, "n2");
  EXPECT_EQ(whole.ranks[1].device_uuid, "GPU-2");
  EXPECT_EQ(whole.ranks[1].outcome, "crashed");
  EXPECT_EQ(whole.ranks[1].signal, 9);
  EXPECT_EQ(whole.ranks[1].peak_allocated_bytes, 5);
  EXPECT_THAT(whole.hosts, SizeIs(2));
  ASSERT_THAT(whole.steps, SizeIs(2));
  EXPECT_EQ(whole.steps[1].rank, 1);
  EXPECT_EQ(whole.log, "");
}

TEST_F(RecordAttemptTest, ARankEndsInTheWordsOfOutcomes) {
  const std::pair<EvidenceKind, const char*> words[] = {
      {EvidenceKind::kDeviceOutOfMemory, "out_of_memory"},
      {EvidenceKind::kHostOutOfMemory, "host_out_of_memory"},
      {EvidenceKind::kCrashed, "crashed"},
      {EvidenceKind::kDiverged, "diverged"},
      {EvidenceKind::kTimedOut, "timed_out"},
      {EvidenceKind::kFailed, "failed"},
      {EvidenceKind::kSkipped, "skipped"},
      {EvidenceKind::kLostPeer, "failed"},
      {EvidenceKind::kKilled, "interrupted"},
      {EvidenceKind::kAgentLost, "lost"},
      {EvidenceKind::kCompleted, "completed"}};
  end(0, EvidenceKind::kCompleted, "");
  for (const auto& [kind, word] : words) {
    end(1, kind, "");
    EXPECT_EQ(record().ranks[1].outcome, word);
  }
}

TEST_F(RecordAttemptTest, VersionsComeFromTheFirstRankThatSaidHello) {
  end(0, EvidenceKind::kCrashed, "");
  end(1, EvidenceKind::kKilled, "");
  results::SoftwareRecord& software = attempt_.ranks[1].ended->software;
  software.id = "5af7";
  software.torch_version = "2.11.0";
  software.cuda_version = "13.0";
  const results::AttemptRecord whole = record();
  EXPECT_EQ(whole.software.id, "5af7");
  EXPECT_EQ(whole.trial.software_id, "5af7");
  EXPECT_EQ(whole.trial.torch_version, "2.11.0");
  EXPECT_EQ(whole.trial.cuda_version, "13.0");
  EXPECT_EQ(whole.trial.driver_version, "580") << "the agent knows it where the trial says nothing";
  EXPECT_EQ(whole.trial.execution, "eager");
}

TEST_F(RecordAttemptTest, ASkippedTrialHasNoDeviceAndNoAttempt) {
  const results::AttemptRecord whole =
      record_skipped({.trial = {0xabc}, .repeat = 0, .attempt = 0}, attempt_.spec,
                     results::Reason::kDeviceAbsent, "no such device", "home");
  EXPECT_EQ(whole.trial.outcome, "skipped");
  EXPECT_EQ(whole.trial.reason, "device_absent");
  EXPECT_EQ(whole.trial.gpu_requested, "RTX 2080 Ti");
  EXPECT_EQ(whole.trial.gpu, "");
  EXPECT_EQ(whole.trial.attempt, 0);
  EXPECT_EQ(whole.trial.device_memory_bytes, std::nullopt);
  EXPECT_EQ(whole.trial.warmup_steps, 0);
  EXPECT_EQ(whole.trial.timed_steps, 0);
  EXPECT_THAT(whole.ranks, IsEmpty());
}

TEST_F(RecordAttemptTest, EachAgentIsToldItsRanks) {
  sweeps::SweepSpec sweep;
  sweep.runtimes = {{.name = "old", .command = {"/opt/old/trial"}, .gpus = {}}};
  sweep.limits.time_s = 77;
  attempt_.spec.runtime = "old";
  const auto messages = start_messages(attempt_, cluster_, sweep);
  ASSERT_THAT(messages, SizeIs(2));
  EXPECT_EQ(messages[1].first, 2);
  const protocol::StartRanks& second = messages[1].second;
  EXPECT_THAT(second.ranks,
              ElementsAre(protocol::RankLaunch{.rank = 1, .local_rank = 0, .device = 4}));
  EXPECT_THAT(second.command, ElementsAre("/opt/old/trial"));
  EXPECT_EQ(second.env, attempt_.spec.env);
  EXPECT_EQ(second.limits.time_s, 77);
  EXPECT_FALSE(second.player);
  EXPECT_EQ(second.input["trial_id"], "0000000000000abc");
  EXPECT_EQ(second.input["seed"], sweeps::trial_seed(attempt_.spec, 1));
  EXPECT_FALSE(second.input.contains("play"));
  EXPECT_TRUE(second.network->over_hosts);
}

TEST_F(RecordAttemptTest, RanksOnSeveralHostsAreToldTheNetworkAndPlayersAreNot) {
  sweeps::SweepSpec sweep;
  sweep.cluster_interface = "ib0";
  const auto network = start_messages(attempt_, cluster_, sweep).front().second.network;
  EXPECT_EQ(network, (protocol::GroupNetwork{.over_hosts = true, .interface = "ib0"}));
  attempt_.ranks.pop_back();
  attempt_.spec.world_size = 1;
  EXPECT_FALSE(start_messages(attempt_, cluster_, sweep).front().second.network.has_value());
}

TEST_F(RecordAttemptTest, InARehearsalTheInputHoldsTheScriptsOfAllRanks) {
  sweeps::SweepSpec sweep;
  sweep.rehearsal.emplace();
  sweeps::RehearsalRule rule;
  rule.fault = sweeps::Fault::kHang;
  rule.fault_rank = 1;
  sweep.rehearsal->rules = {rule};
  const auto messages = start_messages(attempt_, cluster_, sweep);
  EXPECT_TRUE(messages[0].second.player);
  EXPECT_FALSE(messages[0].second.network.has_value());
  ASSERT_THAT(messages[0].second.input["play"], SizeIs(2));
  EXPECT_EQ(messages[0].second.input["play"][0]["fault"], "none");
  EXPECT_EQ(messages[0].second.input["play"][1]["fault"], "hang");
}

TEST(Supported, APrecisionNeedsItsCard) {
  protocol::DeviceOffer cpu;
  cpu.type = "cpu";
  protocol::DeviceOffer volta;
  volta.kind = sweeps::DeviceKind::kCuda;
  volta.type = "some card";
  volta.compute_capability = "7.0";
  protocol::DeviceOffer ampere = volta;
  ampere.compute_capability = "8.6";
  protocol::DeviceOffer unknown = volta;
  unknown.compute_capability = "";
  protocol::DeviceOffer emulated = ampere;  // a card of 2018 played by a newer one
  emulated.type = "RTX 2080 Ti";
  struct Line {
    const protocol::DeviceOffer& device;
    const char* precision;
    bool works;
  };
  const Line lines[] = {
      {cpu, "fp32", true},     {cpu, "bf16", true},         {cpu, "fp16", true},
      {cpu, "tf32", false},    {volta, "fp16", true},       {volta, "bf16", false},
      {volta, "tf32", false},  {volta, "bf16-true", false}, {ampere, "bf16", true},
      {ampere, "tf32", true},  {unknown, "bf16", true},     {emulated, "bf16", false},
      {emulated, "fp32", true}};
  for (const Line& line : lines) {
    EXPECT_EQ(!why_unsupported(line.precision, 1, line.device), line.works)
        << line.device.type << " " << line.precision;
  }
}

}  // namespace
}  // namespace batchsweep::orchestrator
