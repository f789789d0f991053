// SPDX-License-Identifier: Apache-2.0
// A folder that goes away, and attempts worth recording. For the tests of this folder only.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "results/record/trial_record.hpp"
#include "results/store/posix_file.hpp"
#include "results/store/results_store.hpp"

namespace batchsweep::results {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = testing::TempDir() + "bs-store-XXXXXX";
    path_ = ::mkdtemp(pattern.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

inline void write_file(const std::string& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

inline std::string trial_id(std::uint64_t n) {
  return sweeps::to_text(sweeps::TrialId{0xabc0000000000000U + n});
}

inline RunInfo run_info(const std::string& run_id, const std::string& rerun = "") {
  RunInfo run;
  run.run_id = run_id;
  run.rerun = rerun;
  return run;
}

inline AttemptRecord attempt_of(std::uint64_t trial, std::int64_t attempt = 1,
                                Outcome outcome = Outcome::kCompleted,
                                Reason reason = Reason::kNone) {
  AttemptRecord record;
  record.trial.trial_id = trial_id(trial);
  record.trial.attempt = attempt;
  record.trial.outcome = to_text(outcome);
  record.trial.reason = to_text(reason);
  record.trial.model = "resnet18";
  record.trial.gpu = "cpu";
  record.trial.batch_size = static_cast<std::int64_t>(trial);
  record.trial.samples_per_s = 100.5 + static_cast<double>(trial);
  record.trial.software_id = "5000000000000001";
  record.trial.host_id = "4000000000000001";
  record.ranks.emplace_back().host_id = record.trial.host_id;
  record.ranks[0].device_uuid = "CPU-0";
  record.steps = {{0, 1, {0.5, 0.25, 0.125}, {3, 2, 1}}};
  record.software.id = record.trial.software_id;
  record.software.program = "batchsweep-trial 0.1.0";
  record.software.torch_version = "2.11.0";
  record.hosts.emplace_back().id = record.trial.host_id;
  record.hosts[0].hostname = "n1";
  return record;
}

}  // namespace batchsweep::results
