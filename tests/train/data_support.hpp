// SPDX-License-Identifier: Apache-2.0
// What the tests of data share: a trial's spec, its data opened, the sentence when that fails.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "sweeps/trial_defaults.hpp"
#include "worker/train/data/data_source.hpp"
#include "worker/train/trial_errors.hpp"

namespace batchsweep::train {

inline sweeps::TrialSpec spec_of(const std::string& model, const std::string& data,
                                 std::int64_t batch_size) {
  sweeps::TrialSpec spec;
  spec.model = spec.model_source = model;
  spec.data = data;
  spec.batch_size = batch_size;
  return spec;
}

inline std::unique_ptr<DataSource> open(const sweeps::TrialSpec& spec, std::uint64_t seed = 1) {
  const sweeps::TrialSpec full = sweeps::with_defaults(spec);
  return open_data({.spec = full, .seed = seed});
}

// As one of spec.world_size ranks.
inline std::unique_ptr<DataSource> open_rank(const sweeps::TrialSpec& spec, std::int64_t rank) {
  const sweeps::TrialSpec full = sweeps::with_defaults(spec);
  return open_data({.spec = full, .seed = 1, .rank = rank});
}

// Of opening the data or of one of the first batches; "" where all went well.
inline std::string message_of(const sweeps::TrialSpec& spec, int batches = 0) {
  try {
    const auto data = open(spec);
    for (int i = 0; i < batches; ++i) static_cast<void>(data->next());
  } catch (const TrialFailed& error) {
    return error.what();
  }
  return "";
}

// A folder of the test's own.
class Scratch {
 public:
  Scratch()
      : path_(std::filesystem::temp_directory_path() /
              ("batchsweep_data_test." + std::to_string(getpid()))) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~Scratch() { std::filesystem::remove_all(path_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  [[nodiscard]] std::string path(const std::string& name = "") const { return path_ / name; }
  void write(const std::string& name, const std::string& bytes) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary) << bytes;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace batchsweep::train
