// SPDX-License-Identifier: Apache-2.0
#include "orchestrator/quarantine.hpp"

#include <algorithm>

namespace batchsweep::orchestrator {

std::vector<sweeps::TrialId> Quarantine::crashed(std::size_t unit, sweeps::TrialId trial) {
  std::vector<sweeps::TrialId>& trials = crashed_on_[unit];
  if (std::ranges::find(trials, trial) == trials.end()) trials.push_back(trial);
  return trials.size() < kMostCrashes ? std::vector<sweeps::TrialId>{} : trials;
}

}  // namespace batchsweep::orchestrator
