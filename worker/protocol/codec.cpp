// SPDX-License-Identifier: Apache-2.0
#include "worker/protocol/codec.hpp"

#include <fmt/format.h>

#include "worker/protocol/archive.hpp"

namespace batchsweep::protocol {
namespace detail {

template <class T, class Struct>
concept Of = std::same_as<std::remove_const_t<T>, Struct>;

// The members that travel, in order. A change here is a change of the protocol: bump
// kProtocolVersion.
template <class A, Of<sweeps::TrialId> T>
void members(A& archive, T& id) {
  archive(id.value);
}
template <class A, Of<sweeps::TrialLimits> T>
void members(A& archive, T& l) {
  archive(l.time_s, l.setup_s, l.stall_s, l.retries);
}
template <class A, Of<sweeps::DeclaredDevice> T>
void members(A& archive, T& d) {
  archive(d.name, d.kind, d.memory_bytes, d.reserve_bytes, d.threads, d.count, d.on, d.hosts,
          d.oversubscribe);
}
template <class A, Of<results::StepTimes> T>
void members(A& archive, T& s) {
  archive(s.rank, s.warmup_steps, s.time_s, s.loss);
}
template <class A, Of<AttemptKey> T>
void members(A& archive, T& k) {
  archive(k.trial, k.repeat, k.attempt);
}
template <class A, Of<Evidence> T>
void members(A& archive, T& e) {
  archive(e.kind, e.reason, e.phase, e.message, e.exit_code, e.signal, e.step);
  archive(e.oom_requested_bytes, e.oom_allocated_bytes, e.oom_reserved_bytes, e.oom_limit_bytes);
}
template <class A, Of<DeviceOffer> T>
void members(A& archive, T& d) {
  archive(d.index, d.type, d.kind, d.uuid, d.driver_name, d.pci_bus_id, d.compute_capability,
          d.driver_version);
  archive(d.memory_bytes, d.cap_bytes, d.reserve_bytes, d.limit_bytes, d.threads, d.cpus,
          d.emulated);
}
template <class A, Of<Rendezvous> T>
void members(A& archive, T& r) {
  archive(r.host, r.port);
}
template <class A, Of<GroupNetwork> T>
void members(A& archive, T& n) {
  archive(n.over_hosts, n.interface, n.towards);
}
template <class A, Of<Register> T>
void members(A& archive, T& m) {
  archive(m.protocol_version, m.build_id, m.host, m.devices, m.notices, m.addresses, m.sweep_hash);
}
template <class A, Of<Beat> T>
void members(A&, T&) {}
template <class A, Of<RankProgress> T>
void members(A& archive, T& m) {
  archive(m.key, m.rank, m.phase, m.step);
}
template <class A, Of<RankEnded> T>
void members(A& archive, T& m) {
  archive(m.key, m.rank, m.evidence, m.measured, m.steps, m.software, m.precision_native,
          m.execution, m.log);
}
template <class A, Of<RendezvousOpened> T>
void members(A& archive, T& m) {
  archive(m.key, m.at);
}
template <class A, Of<Configure> T>
void members(A& archive, T& m) {
  archive(m.protocol_version, m.build_id, m.devices, m.rehearsal, m.program);
}
template <class A, Of<Welcome> T>
void members(A& archive, T& m) {
  archive(m.file_id, m.beat_s, m.lease_s, m.refused_devices);
}
template <class A, Of<RankLaunch> T>
void members(A& archive, T& r) {
  archive(r.rank, r.local_rank, r.local_world_size, r.device);
}
template <class A, Of<StartRanks> T>
void members(A& archive, T& m) {
  archive(m.key, m.ranks, m.command, m.player, m.input, m.env, m.limits, m.network);
}
template <class A, Of<KillAttempt> T>
void members(A& archive, T& m) {
  archive(m.key);
}
template <class A, Of<Meet> T>
void members(A& archive, T& m) {
  archive(m.key, m.at);
}
template <class A, Of<Shutdown> T>
void members(A&, T&) {}

}  // namespace detail

namespace {

// version, kind (the alternative's index), members
template <class Message>
std::string encode_message(const Message& message) {
  detail::Writer writer;
  writer(static_cast<std::uint8_t>(kProtocolVersion), static_cast<std::uint8_t>(message.index()));
  std::visit([&](const auto& m) { writer(m); }, message);
  return writer.take();
}

template <class Message, std::size_t index = 0>
Message decode_kind(std::uint8_t kind, detail::Reader& reader) {
  if constexpr (index == std::variant_size_v<Message>) {
    throw ProtocolError(fmt::format("message of unknown kind {}", kind));
  } else {
    if (kind != index) return decode_kind<Message, index + 1>(kind, reader);
    std::variant_alternative_t<index, Message> message;
    reader(message);
    return message;
  }
}

template <class Message>
Message decode_message(std::string_view bytes) {
  detail::Reader reader(bytes);
  std::uint8_t version = 0, kind = 0;
  reader(version);
  if (version != kProtocolVersion) {
    throw ProtocolError(
        fmt::format("message of protocol version {}, this program speaks {}: the same build must "
                    "run on every host",
                    version, kProtocolVersion));
  }
  reader(kind);
  Message message = decode_kind<Message>(kind, reader);
  if (!reader.at_end()) throw ProtocolError("message with bytes left over");
  return message;
}

}  // namespace

std::string to_text(const AttemptKey& key) {
  return fmt::format("{:016x}:{}:{}", key.trial.value, key.repeat, key.attempt);
}

std::string encode(const AgentMessage& message) { return encode_message(message); }
std::string encode(const OrchestratorMessage& message) { return encode_message(message); }
AgentMessage decode_agent_message(std::string_view bytes) {
  return decode_message<AgentMessage>(bytes);
}
OrchestratorMessage decode_orchestrator_message(std::string_view bytes) {
  return decode_message<OrchestratorMessage>(bytes);
}

}  // namespace batchsweep::protocol
