// SPDX-License-Identifier: Apache-2.0
#include "results/report/report.hpp"

namespace batchsweep::results {

Report answer(Groups groups, const std::string& reference) {
  Report report;
  report.groups = std::move(groups);
  for (std::size_t i = 0; i < report.groups.groups.size(); ++i) {
    if (report.groups.groups[i].points.empty()) continue;
    report.largest_batch.push_back(largest_batch(report.groups, i));
    const std::optional<MemoryFit> memory = fit_memory(report.groups, i);
    if (memory) report.memory.push_back(*memory);
    report.verdicts.push_back(verdict(report.groups, report.largest_batch.back(), memory));
  }
  report.throughput = throughput(report.groups, reference);
  report.scaling = scaling(report.groups);
  return report;
}

}  // namespace batchsweep::results
