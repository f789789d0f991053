// SPDX-License-Identifier: Apache-2.0
// What a trial process says, one JSON object a line, on the descriptor in BATCHSWEEP_EVENT_FD (docs/trial_protocol.md).
// Order: hello, phase setup, (rank 0 of several: rendezvous,) phase warmup, step..., phase timed, step..., phase teardown, then exactly one ending: result, out_of_memory,
// host_out_of_memory, failed, diverged, skipped or lost_peer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "results/record/trial_record.hpp"
#include "worker/protocol/evidence.hpp"

namespace batchsweep::protocol {

struct Hello {
  int protocol = 1;
  results::SoftwareRecord software;  // program, versions and switches; id and environment are the agent's
  bool precision_native = true;
  std::string execution = "eager";
  bool operator==(const Hello&) const = default;
};
struct PhaseBegan {
  results::Phase phase = results::Phase::kSetup;
  bool operator==(const PhaseBegan&) const = default;
};
// Rank 0 of a trial of several ranks opened its store there: the others are told by a second line
// on their standard input.
struct Rendezvous {
  std::string host;
  std::uint16_t port = 0;
  bool operator==(const Rendezvous&) const = default;
};
struct StepDone {
  std::int64_t step = 0;  // from 1, warm-up counted
  double time_s = 0;
  std::optional<double> loss;
  bool operator==(const StepDone&) const = default;
};
// Everything measured; members of RankRecord by their field names (identity columns are the agent's).
struct Result {
  results::RankRecord measured;
  results::StepTimes steps;
  bool operator==(const Result&) const = default;
};
// The trial ends otherwise, by its own account: evidence of the kinds named above. `measured` may carry the peaks so far.
struct Ending {
  Evidence evidence;
  results::RankRecord measured;
  results::StepTimes steps;
  bool operator==(const Ending&) const = default;
};
using TrialEvent = std::variant<Hello, PhaseBegan, Rendezvous, StepDone, Result, Ending>;

[[nodiscard]] std::string encode_line(const TrialEvent& event);  // with its newline
// Throws ProtocolError that quotes the line (shortened).
[[nodiscard]] TrialEvent decode_line(std::string_view line);

// The second line on standard input, without its newline.
[[nodiscard]] std::string rendezvous_line(const Rendezvous& rendezvous);
// Throws ProtocolError.
[[nodiscard]] Rendezvous read_rendezvous_line(std::string_view line);

}  // namespace batchsweep::protocol
