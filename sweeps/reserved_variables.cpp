// SPDX-License-Identifier: Apache-2.0
#include "sweeps/reserved_variables.hpp"

#include <algorithm>
#include <array>

namespace batchsweep::sweeps {
namespace {

using namespace std::string_view_literals;

constexpr std::array kLauncherPrefixes = {"OMPI_"sv, "PMIX_"sv, "PMI_"sv,
                                          "PRTE_"sv, "ORTE_"sv, "SLURM_"sv};
constexpr std::array kSetByAgent = {"BATCHSWEEP_ATTEMPT"sv, "BATCHSWEEP_AGENT"sv,
                                    "BATCHSWEEP_EVENT_FD"sv, "CUDA_VISIBLE_DEVICES"sv, "TMPDIR"sv};

}  // namespace

bool is_launcher_variable(std::string_view name) {
  return std::ranges::any_of(kLauncherPrefixes,
                             [&](std::string_view prefix) { return name.starts_with(prefix); });
}

bool is_set_by_agent(std::string_view name) { return std::ranges::count(kSetByAgent, name) > 0; }

}  // namespace batchsweep::sweeps
