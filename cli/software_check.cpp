// SPDX-License-Identifier: Apache-2.0
#include "cli/software_check.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "cli/trial_program.hpp"

namespace batchsweep::cli {

std::vector<std::string> software_differences(const results::SoftwareRecord& then, const results::SoftwareRecord& now) {
  struct Version {
    const char* what;
    std::string results::SoftwareRecord::* member;
  };
  constexpr Version kVersions[] = {{"LibTorch", &results::SoftwareRecord::torch_version},
                                   {"CUDA", &results::SoftwareRecord::cuda_version},
                                   {"cuDNN", &results::SoftwareRecord::cudnn_version},
                                   {"NCCL", &results::SoftwareRecord::nccl_version}};
  std::vector<std::string> differences;
  for (const Version& version : kVersions) {
    const std::string &a = then.*version.member, &b = now.*version.member;
    if (!a.empty() && !b.empty() && a != b) differences.push_back(fmt::format("{} {} then, {} now", version.what, a, b));
  }
  return differences;
}

void refuse_changed_software(const std::string& results_path, const std::vector<results::SoftwareRecord>& recorded,
                             const std::string& program) {
  // "batchsweep-trial 0.1.0"; rows of other runtimes speak for themselves.
  const auto ours = [](const results::SoftwareRecord& software) { return software.program.starts_with("batchsweep-trial"); };
  if (std::none_of(recorded.begin(), recorded.end(), ours)) return;
  const std::optional<results::SoftwareRecord> now = ask_trial_program(program);
  if (!now) return;
  for (const results::SoftwareRecord& then : recorded) {
    if (!ours(then)) continue;
    const std::vector<std::string> differences = software_differences(then, *now);
    if (differences.empty()) continue;
    throw ResultsFileError(fmt::format(
        "{} was recorded with other software: {}. Rows of both would stand side by side: measure all again with --rerun all, or go on "
        "all the same with --accept-changes",
        results_path, fmt::join(differences, "; ")));
  }
}

}  // namespace batchsweep::cli
