// SPDX-License-Identifier: Apache-2.0
#include "worker/protocol/codec.hpp"

#include <gmock/gmock.h>

#include "base/error.hpp"
#include "results/record/fields.hpp"

namespace batchsweep::protocol {
namespace {

using testing::HasSubstr;

// Every column set, each to a value of its own: a member that does not travel shows.
template <class Record>
Record full_record() {
  Record record;
  int n = 0;
  for (const auto& field : results::fields_of<Record>()) {
    ++n;
    std::visit(
        [&](auto member) {
          using T = std::remove_reference_t<decltype(record.*member)>;
          if constexpr (std::is_same_v<T, std::string>) {
            record.*member = std::string(field.name) + " \xc3\xbc";
          } else if constexpr (std::is_same_v<T, bool>) {
            record.*member = !(record.*member);
          } else {
            record.*member = static_cast<std::int64_t>(n + 1000);
          }
        },
        field.member);
  }
  return record;
}

const AttemptKey kKey{{0x0123456789abcdefU}, 2, 3};

Evidence full_evidence() {
  return {.kind = EvidenceKind::kTimedOut,
          .reason = results::Reason::kStall,
          .phase = results::Phase::kTimed,
          .message = "no step for 60 s",
          .exit_code = 3,
          .signal = 11,
          .step = 7,
          .oom_requested_bytes = 1,
          .oom_allocated_bytes = 2,
          .oom_reserved_bytes = 3,
          .oom_limit_bytes = 4};
}

std::vector<AgentMessage> agent_messages() {
  DeviceOffer offer{.index = 1,
                    .type = "small",
                    .kind = sweeps::DeviceKind::kCuda,
                    .uuid = "GPU-1",
                    .driver_name = "NVIDIA H100 PCIe",
                    .pci_bus_id = "0000:01:00.0",
                    .compute_capability = "9.0",
                    .driver_version = "580.1",
                    .memory_bytes = std::uint64_t{80} << 30,
                    .cap_bytes = std::uint64_t{11} << 30,
                    .reserve_bytes = 1 << 20,
                    .limit_bytes = 77,
                    .threads = 5,
                    .emulated = true};
  Register registration{.protocol_version = 9,
                        .build_id = "b1",
                        .host = full_record<results::HostRecord>(),
                        .devices = {offer, {}},
                        .notices = {"one", "two"},
                        .addresses = {"10.0.0.1", "fd00::1"},
                        .sweep_hash = "abc"};
  RankEnded ended{
      .key = kKey,
      .rank = 4,
      .evidence = full_evidence(),
      .measured = full_record<results::RankRecord>(),
      .steps = {.rank = 4, .warmup_steps = 1, .time_s = {0.1, 0.25}, .loss = {2.5, -0.0}},
      .software = full_record<results::SoftwareRecord>(),
      .precision_native = false,
      .execution = "eager",
      .log = std::string("a\0b\n", 4)};
  return {registration,
          Register{},
          Beat{},
          RankProgress{kKey, 1, results::Phase::kWarmup, 12},
          ended,
          RankEnded{},
          RendezvousOpened{kKey, {"10.0.0.1", 40000}}};
}

std::vector<OrchestratorMessage> orchestrator_messages() {
  Configure configure{.protocol_version = 1,
                      .build_id = "b2",
                      .devices = {{.name = "cpu",
                                   .kind = sweeps::DeviceKind::kCuda,
                                   .memory_bytes = 5,
                                   .reserve_bytes = 6,
                                   .threads = 2,
                                   .count = 3,
                                   .on = "H200 SXM",
                                   .hosts = "n[1-4]",
                                   .oversubscribe = true}},
                      .rehearsal = true,
                      .program = "batchsweep-player"};
  StartRanks start{.key = kKey,
                   .ranks = {{.rank = 1, .local_rank = 2, .local_world_size = 4, .device = 3}, {}},
                   .command = {"/opt/trial", "--flag"},
                   .player = true,
                   .input = Json::parse(
                       R"({"spec":{"model":"lenet"},"seed":18446744073709551615,"play":[1,null]})"),
                   .env = {{"NCCL_ALGO", "Ring"}, {"A", ""}},
                   .limits = {.time_s = 1, .setup_s = 2, .stall_s = 3, .retries = 4},
                   .network = GroupNetwork{true, "ib0", {"10.0.0.1"}}};
  return {
      configure,  Welcome{"file", 0.5, 7, {0, 3}}, Beat{}, start, StartRanks{}, KillAttempt{kKey},
      Shutdown{}, Meet{kKey, {"10.0.0.1", 40000}}};
}

TEST(Codec, EveryMessageComesBackAsItWas) {
  for (const AgentMessage& message : agent_messages()) {
    EXPECT_EQ(decode_agent_message(encode(message)), message) << "kind " << message.index();
  }
  for (const OrchestratorMessage& message : orchestrator_messages()) {
    EXPECT_EQ(decode_orchestrator_message(encode(message)), message) << "kind " << message.index();
  }
}

TEST(Codec, AMessageCutAnywhereIsRefused) {
  for (const AgentMessage& message : agent_messages()) {
    const std::string bytes = encode(message);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      EXPECT_THROW((void)decode_agent_message(bytes.substr(0, size)), ProtocolError)
          << message.index() << " at " << size;
    }
    EXPECT_THROW((void)decode_agent_message(bytes + 'x'), ProtocolError);
  }
}

TEST(Codec, AnyDamagedByteIsReadOrRefusedButNeverHarms) {
  for (const OrchestratorMessage& message : orchestrator_messages()) {
    const std::string bytes = encode(message);
    for (std::size_t at = 0; at < bytes.size(); ++at) {
      for (const char value : {'\0', '\x7f', '\xff'}) {
        std::string damaged = bytes;
        damaged[at] = value;
        try {
          (void)decode_orchestrator_message(damaged);
        } catch (const ProtocolError&) {
        }
      }
    }
  }
}

TEST(Codec, AnotherVersionIsRefusedByName) {
  std::string bytes = encode(AgentMessage{Beat{}});
  bytes[0] = 7;
  EXPECT_THAT([&] { (void)decode_agent_message(bytes); },
              testing::ThrowsMessage<ProtocolError>(HasSubstr(
                  "protocol version 7, this program speaks " + std::to_string(kProtocolVersion))));
  bytes[0] = kProtocolVersion;
  bytes[1] = 99;
  EXPECT_THAT([&] { (void)decode_agent_message(bytes); },
              testing::ThrowsMessage<ProtocolError>(HasSubstr("unknown kind 99")));
}

TEST(Codec, AnAttemptIsNamedByTrialRepeatAndNumber) {
  EXPECT_EQ(to_text(kKey), "0123456789abcdef:2:3");
  EXPECT_EQ(to_text(AttemptKey{{5}, 0, 1}), "0000000000000005:0:1");
}

}  // namespace
}  // namespace batchsweep::protocol
