// SPDX-License-Identifier: Apache-2.0
// A finished attempt -> the record of it: every column that spec, devices, hosts and ranks know.
// Pure; what is computed from it (results/record/derive.hpp) and what the shell knows (run_id,
// sequence, started_utc) comes later.
#pragma once

#include <string>

#include "orchestrator/attempt.hpp"
#include "orchestrator/cluster.hpp"
#include "orchestrator/verdict.hpp"
#include "results/record/trial_record.hpp"

namespace batchsweep::orchestrator {

[[nodiscard]] results::AttemptRecord record_attempt(const Attempt& attempt, const Verdict& verdict,
                                                    const Cluster& cluster, const std::string& site,
                                                    Instant now);

// A trial that is not started at all; attempt 0.
[[nodiscard]] results::AttemptRecord record_skipped(const protocol::AttemptKey& key,
                                                    const sweeps::TrialSpec& spec,
                                                    results::Reason reason,
                                                    const std::string& message,
                                                    const std::string& site);

}  // namespace batchsweep::orchestrator
