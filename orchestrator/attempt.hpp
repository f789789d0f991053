// SPDX-License-Identifier: Apache-2.0
// One attempt while it runs: which rank sits on which device, and what is known of each. Data only.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/clock.hpp"
#include "orchestrator/scheduler.hpp"
#include "sweeps/trial_spec.hpp"
#include "worker/protocol/messages.hpp"

namespace batchsweep::orchestrator {

struct RankState {
  DeviceId device = 0;
  protocol::PeerId agent = 0;
  std::int64_t local_rank = 0;  // among the trial's ranks on that host
  results::Phase phase = results::Phase::kLaunch;
  std::int64_t step = 0;
  std::optional<protocol::RankEnded> ended;
  int arrival = 0;  // order in which the ends came
};

struct Attempt {
  protocol::AttemptKey key;
  SlotId slot = 0;
  sweeps::TrialSpec spec;
  std::vector<RankState> ranks;
  Instant started{};
  std::optional<Instant> deadline;  // of the ranks that have not ended yet, once one ended badly
  bool stopping = false;            // killed because the sweep stops
  int relaunches = 0;
  int ended = 0;
  std::int64_t neighbours_max = 0;  // other trials on its hosts at once
  // Judged while a process refuses to die: it only keeps that process's device away from others.
  std::optional<Instant> lingers_since;
};

}  // namespace batchsweep::orchestrator
