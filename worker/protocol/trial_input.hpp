// SPDX-License-Identifier: Apache-2.0
// The one line of JSON that a trial process reads on standard input (docs/trial_protocol.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/json.hpp"
#include "sweeps/rehearsal.hpp"
#include "sweeps/sweep_spec.hpp"
#include "sweeps/trial_spec.hpp"

namespace batchsweep::protocol {

struct TrialDevice {
  sweeps::DeviceKind kind = sweeps::DeviceKind::kCpu;
  std::string type, uuid;
  std::optional<std::uint64_t> limit_bytes;  // absent: no limit of ours
  std::int64_t threads = 1;
  bool operator==(const TrialDevice&) const = default;
};

// Where this rank's host can be reached by the trial's other ranks.
struct TrialNetwork {
  std::string address;    // "127.0.0.1" where all ranks are on one host
  std::string interface;  // that has it
  bool operator==(const TrialNetwork&) const = default;
};

struct TrialInput {
  int protocol = 1;
  std::string trial_id;
  std::int64_t repeat = 0, attempt = 1;
  std::uint64_t seed = 0;  // sweeps::trial_seed
  sweeps::TrialSpec spec;
  std::int64_t rank = 0, local_rank = 0, local_world_size = 1;  // local: on this host
  std::optional<TrialNetwork> network;                          // of a trial of several ranks
  TrialDevice device;
  std::optional<sweeps::PlayScript> play;  // a rehearsal: play this (already the rank's own)
  bool operator==(const TrialInput&) const = default;
};

[[nodiscard]] Json to_json(const TrialDevice& device);
[[nodiscard]] Json to_json(const TrialNetwork& network);
[[nodiscard]] Json to_json(const TrialInput& input);
// Throws ProtocolError: another protocol version, a member missing or of the wrong type.
[[nodiscard]] TrialInput trial_input_from_json(const Json& json);

}  // namespace batchsweep::protocol
