// SPDX-License-Identifier: Apache-2.0
// A sweep drawn from a seed: cluster, grid, faults, limits; and what each of its trials must end
// as, worked out from the rules alone.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <string>

#include "results/record/outcome.hpp"
#include "sweeps/grid.hpp"
#include "sweeps/sweep_spec.hpp"

namespace batchsweep::orchestrator {

struct RandomSweep {
  sweeps::SweepSpec spec;
  std::mt19937_64 random;

  explicit RandomSweep(std::uint64_t seed);
  [[nodiscard]] std::int64_t draw(std::int64_t from, std::int64_t to);
  [[nodiscard]] bool chance(double probability);
  [[nodiscard]] std::vector<std::string> present_types() const;
  [[nodiscard]] sweeps::PinTargets targets() const;
};

// What an attempt ends as if nothing from outside meddles with it. A trial whose fault is
// kill_agent completes on agent 0.
[[nodiscard]] results::Outcome expected_outcome(const sweeps::SweepSpec& sweep,
                                                const sweeps::TrialSpec& trial,
                                                std::int64_t attempt);
// Do its attempts kill the agent above them?
[[nodiscard]] bool kills_agents(const sweeps::SweepSpec& sweep, const sweeps::TrialSpec& trial);
// May agents be lost in this sweep, and with them trials that did nothing wrong?
[[nodiscard]] bool has_agent_killers(const sweeps::SweepSpec& sweep);

}  // namespace batchsweep::orchestrator
