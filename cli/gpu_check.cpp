// SPDX-License-Identifier: Apache-2.0
#include "cli/gpu_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/error.hpp"

namespace batchsweep::cli {

std::vector<std::string> gpu_differences(const std::vector<results::RecordedGpu>& recorded,
                                         const std::vector<protocol::DeviceOffer>& offered) {
  std::vector<std::string> differences;
  for (const protocol::DeviceOffer& now : offered) {
    if (now.kind != sweeps::DeviceKind::kCuda) continue;
    std::set<std::string> cards, drivers;  // recorded under this name; drivers of this card
    for (const results::RecordedGpu& then : recorded) {
      if (then.gpu != now.type) continue;
      cards.insert(then.device_name);
      if (then.device_name == now.driver_name) drivers.insert(then.driver_version);
    }
    if (cards.empty() || drivers.contains(now.driver_version)) continue;
    const std::string difference =
        drivers.empty()
            ? fmt::format("{}: {} then, {} now", now.type, fmt::join(cards, " and "),
                          now.driver_name)
            : fmt::format("{}: driver {} then, {} now", now.type, fmt::join(drivers, " and "),
                          now.driver_version.empty() ? "unknown" : now.driver_version);
    if (std::ranges::count(differences, difference) == 0) differences.push_back(difference);
  }
  return differences;
}

void refuse_changed_gpus(const std::string& results_path,
                         const std::vector<results::RecordedGpu>& recorded,
                         const std::vector<protocol::DeviceOffer>& offered) {
  const std::vector<std::string> differences = gpu_differences(recorded, offered);
  if (differences.empty()) return;
  throw ResultsFileError(
      fmt::format("{} was recorded on other GPUs: {}. Rows of both would stand side by side: "
                  "measure all again with --rerun all, or go on "
                  "all the same with --accept-changes",
                  results_path, fmt::join(differences, "; ")));
}

}  // namespace batchsweep::cli
