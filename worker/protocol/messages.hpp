// SPDX-License-Identifier: Apache-2.0
// What orchestrator and agents say to each other. Encoded by worker/protocol/codec.hpp (versioned). Times are seconds or monotonic ms
// of the sender; nobody compares clocks of two hosts.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/json.hpp"
#include "results/record/trial_record.hpp"
#include "sweeps/sweep_spec.hpp"
#include "sweeps/trial_spec.hpp"
#include "worker/protocol/evidence.hpp"
#include "worker/protocol/transport.hpp"
#include "worker/protocol/trial_events.hpp"

namespace batchsweep::protocol {

inline constexpr int kProtocolVersion = 4;  // bump with any change of a message

// One execution of one (trial, repeat).
struct AttemptKey {
  sweeps::TrialId trial;
  std::int64_t repeat = 0;
  std::int64_t attempt = 1;
  auto operator<=>(const AttemptKey&) const = default;
};
[[nodiscard]] std::string to_text(const AttemptKey& key);  // "0123456789abcdef:0:1"

// A device as an agent offers it: what a placement is made of. `index` names it within its agent.
struct DeviceOffer {
  int index = 0;
  std::string type;  // the name trials ask for: catalogue, declared or the driver's
  sweeps::DeviceKind kind = sweeps::DeviceKind::kCpu;
  std::string uuid;         // physical identity: one trial at a time holds it, whatever views exist. CPU: "cpu-<host>-<index>"
  std::string driver_name;  // of the physical device; for CPUs the processor's name
  std::string pci_bus_id, compute_capability, driver_version;
  std::uint64_t memory_bytes = 0;  // physical (CPU: available RAM at the start)
  std::optional<std::uint64_t> cap_bytes;
  std::uint64_t reserve_bytes = 0;
  std::uint64_t limit_bytes = 0;  // (cap, else memory) - reserve: oom_limit_bytes
  std::int64_t threads = 1;
  std::string cpus;       // cores that are its trials' alone, "0-3,8"; "" = all that the agent may use, shared
  bool emulated = false;  // a catalogue name carried by another physical device
  bool operator==(const DeviceOffer&) const = default;
};

// ---- agent -> orchestrator
struct Register {
  int protocol_version = kProtocolVersion;
  std::string build_id;
  results::HostRecord host;
  std::vector<DeviceOffer> devices;
  std::vector<std::string> notices;  // leftovers killed, devices not clean, ...
  std::vector<std::string> addresses;  // of the host, without its loopback
  std::string sweep_hash;            // of the sweep file as this process sees it; "" where it sees none
  bool operator==(const Register&) const = default;
};
struct Beat {
  bool operator==(const Beat&) const = default;
};
// Progress for the live line and for explain; may be thinned out by the agent (at most one a second and rank).
struct RankProgress {
  AttemptKey key;
  std::int64_t rank = 0;
  results::Phase phase = results::Phase::kLaunch;
  std::int64_t step = 0;  // finished steps
  bool operator==(const RankProgress&) const = default;
};
// Rank 0 of an attempt waits there for the others.
struct RendezvousOpened {
  AttemptKey key;
  Rendezvous at;
  bool operator==(const RendezvousOpened&) const = default;
};
// One rank's process has ended (or never started): its evidence and what it measured.
struct RankEnded {
  AttemptKey key;
  std::int64_t rank = 0;
  Evidence evidence;
  results::RankRecord measured;      // as far as it came
  results::StepTimes steps;
  results::SoftwareRecord software;  // id "" if the process never said hello
  bool precision_native = true;
  std::string execution;             // "eager"; "" if unknown
  std::string log;                   // head and tail of stdout and stderr, for people
  bool operator==(const RankEnded&) const = default;
};
using AgentMessage = std::variant<Register, Beat, RankProgress, RankEnded, RendezvousOpened>;

// ---- orchestrator -> agent
// The first message to every process: only the orchestrator reads the sweep file. The process takes stock, makes its offers
// (worker/agent/device_inventory.hpp), builds its Agent and registers. Agent::handle never sees it (ignores it).
struct Configure {
  int protocol_version = kProtocolVersion;
  std::string build_id;
  std::vector<sweeps::DeclaredDevice> devices;
  bool rehearsal = false;
  std::string program;  // of ours that trials need: an agent that lacks it offers nothing; "" needs none
  bool operator==(const Configure&) const = default;
};
struct Welcome {
  std::string file_id;  // of the results file: part of BATCHSWEEP_ATTEMPT
  double beat_s = 1, lease_s = 3;  // silence longer than lease_s: the agent kills its trials
  std::vector<int> refused_devices;  // claimed by a lower rank of the same host
  bool operator==(const Welcome&) const = default;
};
struct RankLaunch {
  std::int64_t rank = 0, local_rank = 0, local_world_size = 1;
  int device = 0;  // DeviceOffer::index
  bool operator==(const RankLaunch&) const = default;
};
// How the ranks of an attempt reach each other.
struct GroupNetwork {
  bool over_hosts = false;           // false: over the loopback of their one host
  std::string interface;             // [cluster] interface; "": the one with the route towards these
  std::vector<std::string> towards;  // addresses of the orchestrator's host
  bool operator==(const GroupNetwork&) const = default;
};
// Start these ranks of an attempt. The agent writes one line to each process's standard input: `input` with rank, local_rank, device
// and attempt filled in (docs/trial_protocol.md).
struct StartRanks {
  AttemptKey key;
  std::vector<RankLaunch> ranks;
  std::vector<std::string> command;  // empty: the built-in program named by `player`
  bool player = false;               // batchsweep-player instead of batchsweep-trial
  Json input;  // TrialInput without the rank's part; in a rehearsal input["play"] is an array: the agent takes the rank's own
  std::map<std::string, std::string> env;
  sweeps::TrialLimits limits;
  std::optional<GroupNetwork> network;  // of several ranks that talk to each other: a Meet will follow
  bool operator==(const StartRanks&) const = default;
};
// Rank 0 is there: told to the processes of the other ranks.
struct Meet {
  AttemptKey key;
  Rendezvous at;
  bool operator==(const Meet&) const = default;
};
struct KillAttempt {
  AttemptKey key;
  bool operator==(const KillAttempt&) const = default;
};
struct Shutdown {  // kill what runs, answer nothing more, rest
  bool operator==(const Shutdown&) const = default;
};
using OrchestratorMessage = std::variant<Configure, Welcome, Beat, StartRanks, KillAttempt, Shutdown, Meet>;

}  // namespace batchsweep::protocol
