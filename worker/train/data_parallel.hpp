// SPDX-License-Identifier: Apache-2.0
// The ranks of a trial training one model: each passes its own batches through it, and their
// gradients are averaged while backward still runs. What happens when is as in PyTorch's
// DistributedDataParallel at its defaults. With one rank nothing happens.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "results/record/trial_record.hpp"
#include "worker/train/parameters.hpp"
#include "worker/train/rank_group.hpp"
#include "worker/train/reducer.hpp"

namespace batchsweep::train {

// What becomes of the gradients of a backward pass.
enum class Gradients { kKept, kAveraged };

// A step's, as c10d::Logger takes them.
struct CommunicationTimes {
  results::Number exposed_s, overlapped_s;
};

class DataParallel {
 public:
  // Collective: all ranks go on from rank 0's weights and buffers. Both must outlive this.
  DataParallel(const RankGroup& ranks, const Parameters& parameters);
  ~DataParallel();
  DataParallel(const DataParallel&) = delete;
  DataParallel& operator=(const DataParallel&) = delete;

  // Around each forward pass of a step: gradients are kept on all but the last, which averages
  // their sum.
  void before_forward(Gradients then);
  void before_backward(const at::Tensor& loss, Gradients then);

  // Between steps, outside of what is timed: takes the times of the last one. Only of the first
  // ten, which LibTorch keeps them of; the first two are no steps like others.
  void note_times();
  [[nodiscard]] CommunicationTimes times() const;  // medians of those noted
  // Of gradients, a step and rank; absent with one rank.
  [[nodiscard]] results::Number bytes_per_step() const;

 private:
  void make_reducer_for(const at::Tensor& loss);

  const RankGroup& ranks_;
  const Parameters& parameters_;
  std::vector<at::Tensor> buffers_;
  ReducerAndLogger reduction_;
  bool buffers_are_old_ = true;  // since gradients were averaged last
  std::int64_t averaged_ = 0;
  double bytes_ = 0;
  std::vector<double> exposed_s_, overlapped_s_;
};

}  // namespace batchsweep::train
