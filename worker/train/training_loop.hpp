// SPDX-License-Identifier: Apache-2.0
// The training loop: what is done, what is timed, what is counted. docs/measurement.md explains
// each number. Knows nothing of how models, data and devices do their part.
#pragma once

#include <cstdint>

namespace batchsweep::train {

class DataParallel;
class DataSource;
class Device;
class OptimizerStep;
class RankGroup;
class TrialReport;

struct TrainingPlan {
  std::int64_t warmup_steps = 0;  // in the peaks, not in the times
  std::int64_t timed_steps = 0;
  double min_time_s = 0;  // the timed window goes on until it lasted so long
};

struct TrainingParts {
  Device& device;
  const RankGroup& ranks;
  DataParallel& data_parallel;
  DataSource& data;
  OptimizerStep& step;
};

// Trains as planned and fills in the report's measurements as far as it comes.
void train(const TrainingPlan& plan, const TrainingParts& parts, TrialReport& report);

}  // namespace batchsweep::train
