// SPDX-License-Identifier: Apache-2.0
// The ranks' evidence -> one outcome and one guilty rank. Pure. A trial may span hosts, so no agent
// can judge it alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "results/record/outcome.hpp"
#include "worker/protocol/evidence.hpp"

namespace batchsweep::orchestrator {

struct RankEvidence {
  std::int64_t rank = 0;
  protocol::Evidence evidence;
};

struct Verdict {
  results::Outcome outcome = results::Outcome::kCompleted;
  results::Reason reason = results::Reason::kNone;
  std::optional<std::int64_t> guilty_rank;  // absent: completed
  protocol::Evidence evidence;              // of the guilty rank
  bool operator==(const Verdict&) const = default;
};

// `ended` in the order of arrival, one a rank. `stopping`: we killed it because the sweep stops;
// else a kill means that the agent ended it for want of an orchestrator.
[[nodiscard]] Verdict judge(const std::vector<RankEvidence>& ended, bool stopping);

// Evidence that the core itself gives for a rank that cannot speak any more.
[[nodiscard]] protocol::Evidence own_evidence(protocol::EvidenceKind kind, results::Phase phase, const std::string& message);

// A process that never came to life, or found its address in use: started again inside the same
// attempt.
[[nodiscard]] bool is_launch_fault(const Verdict& verdict);

}  // namespace batchsweep::orchestrator
