// SPDX-License-Identifier: Apache-2.0
// What an agent would report of one rank that plays its script, and when: without a process,
// without waiting. Pure. Gives the evidence that worker/agent would find for the real player.
#pragma once

#include <cstdint>
#include <optional>

#include "base/clock.hpp"
#include "sweeps/rehearsal.hpp"
#include "sweeps/trial_spec.hpp"
#include "worker/protocol/messages.hpp"

namespace batchsweep::orchestrator {

struct PlayedRank {
  double ends_after_s = 0;
  protocol::RankEnded end;   // key and rank are the caller's
  bool kills_agent = false;  // then nothing is reported: the agent above it is gone
};

struct RankToPlay {
  const sweeps::PlayScript& script;
  const sweeps::TrialSpec& spec;
  const sweeps::TrialLimits& limits;
  double limit_bytes = 0;
  // The step in which another rank of the trial dies: this one waits in a collective for ever.
  std::optional<std::int64_t> peer_dies_in_step;
};

// The step in which the rank dies by itself; nullopt: it does not.
[[nodiscard]] std::optional<std::int64_t> dies_in_step(const sweeps::PlayScript& script,
                                                       double limit_bytes);

[[nodiscard]] PlayedRank play_rank(const RankToPlay& rank);

}  // namespace batchsweep::orchestrator
