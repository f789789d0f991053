// SPDX-License-Identifier: Apache-2.0
// Which physical devices crash one trial after another: so many different trials, and none
// completed there in between. One trial that crashes again and again speaks against itself, not
// against the device. Knows only numbers; what follows is for the core.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "sweeps/trial_spec.hpp"

namespace batchsweep::orchestrator {

class Quarantine {
 public:
  static constexpr std::size_t kMostCrashes = 3;

  void completed(std::size_t unit) { crashed_on_.erase(unit); }
  // The trials that crashed on that device, in order, once they are too many; until then none.
  [[nodiscard]] std::vector<sweeps::TrialId> crashed(std::size_t unit, sweeps::TrialId trial);

 private:
  std::map<std::size_t, std::vector<sweeps::TrialId>> crashed_on_;
};

}  // namespace batchsweep::orchestrator
