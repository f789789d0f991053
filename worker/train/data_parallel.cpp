// SPDX-License-Identifier: Apache-2.0
#include "worker/train/data_parallel.hpp"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/functions/accumulate_grad.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/csrc/distributed/c10d/comm.hpp>
#include <torch/csrc/distributed/c10d/logger.hpp>
#include <torch/csrc/distributed/c10d/reducer.hpp>

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "results/record/step_statistics.hpp"
#include "worker/train/trial_errors.hpp"

namespace batchsweep::train {
namespace {

constexpr std::size_t kBroadcastBytes = std::size_t{250} << 20;

// The tensors that a backward pass from here gives gradients to.
std::unordered_set<const c10::TensorImpl*> reached_from(const at::Tensor& loss) {
  std::unordered_set<const c10::TensorImpl*> reached;
  std::unordered_set<const torch::autograd::Node*> seen;
  std::vector<torch::autograd::Node*> left{loss.grad_fn().get()};
  while (!left.empty()) {
    torch::autograd::Node* node = left.back();
    left.pop_back();
    if (node == nullptr || !seen.insert(node).second) continue;
    if (const auto* leaf = dynamic_cast<const torch::autograd::AccumulateGrad*>(node))
      reached.insert(leaf->variable.unsafeGetTensorImpl());
    for (const torch::autograd::Edge& edge : node->next_edges())
      left.push_back(edge.function.get());
  }
  return reached;
}

}  // namespace

DataParallel::DataParallel(const RankGroup& ranks, const Parameters& parameters)
    : ranks_(ranks), parameters_(parameters) {
  if (ranks_.alone()) return;
  for (const NamedTensor& buffer : parameters.buffers()) buffers_.push_back(buffer.tensor);
  std::vector<at::Tensor> all = parameters.trained_tensors();
  c10d::verify_params_across_processes(ranks_.group(), all, std::nullopt);
  for (at::Tensor& tensor : all) tensor = tensor.detach();
  all.insert(all.end(), buffers_.begin(), buffers_.end());
  c10d::broadcast_coalesced(ranks_.group(), all, kBroadcastBytes, 0);
}
DataParallel::~DataParallel() = default;

void DataParallel::before_forward(Gradients then) {
  if (ranks_.alone()) return;
  if (reduction_.reducer) {
    if (then == Gradients::kAveraged) reduction_.reducer->prepare_for_forward();
    reduction_.reducer->rebuild_buckets();
  }
  if (!buffers_are_old_ || buffers_.empty()) return;
  const at::NoGradGuard no_grad;
  c10d::broadcast_coalesced(ranks_.group(), buffers_, kBroadcastBytes, 0);
  buffers_are_old_ = false;
}

void DataParallel::before_backward(const at::Tensor& loss, Gradients then) {
  if (ranks_.alone()) return;
  if (!reduction_.reducer) make_reducer_for(loss);
  if (then == Gradients::kKept) return;
  reduction_.reducer->prepare_for_backward({});
  buffers_are_old_ = true;
  ++averaged_;
}

// Not before there is a loss: one that does not depend on some parameter would be waited for in
// vain. A block that is computed again hides its parameters, so there all count as used.
void DataParallel::make_reducer_for(const at::Tensor& loss) {
  const auto reached = reached_from(loss);
  std::unordered_set<const c10::TensorImpl*> taken;
  std::vector<NamedTensor> used;
  for (const NamedTensor& parameter : parameters_.trained()) {
    const c10::TensorImpl* tensor = parameter.tensor.unsafeGetTensorImpl();
    const bool is_used = parameters_.options().checkpointing || reached.contains(tensor);
    if (!parameter.tensor.requires_grad() || !is_used || !taken.insert(tensor).second) continue;
    used.push_back(parameter);
    bytes_ += static_cast<double>(parameter.tensor.nbytes());
  }
  if (used.empty()) throw TrialFailed("the loss depends on no trained parameter");
  reduction_ = make_reducer(used, ranks_.group());
}

void DataParallel::note_times() {
  constexpr std::int64_t kFirst = 3, kLast = 10;
  if (ranks_.alone() || averaged_ < kFirst || averaged_ > kLast) return;
  reduction_.logger->set_runtime_stats_and_log();
  const auto numbers = reduction_.logger->get_ddp_logging_data().ints_map;
  const auto seconds = [&](const char* name) {
    const auto found = numbers.find(name);
    return found == numbers.end() ? NAN : static_cast<double>(found->second) * 1e-9;
  };
  const double all_s = seconds("backward_comm_time");
  const double overlapped_s = seconds("backward_compute_comm_overlap_time");
  if (!(all_s > 0)) return;
  exposed_s_.push_back(std::max(0.0, all_s - overlapped_s));
  overlapped_s_.push_back(overlapped_s);
}

CommunicationTimes DataParallel::times() const {
  if (exposed_s_.empty()) return {};
  return {.exposed_s = results::quantile(exposed_s_, 0.5),
          .overlapped_s = results::quantile(overlapped_s_, 0.5)};
}

results::Number DataParallel::bytes_per_step() const {
  return ranks_.alone() ? std::nullopt : results::Number(bytes_);
}

}  // namespace batchsweep::train
