// SPDX-License-Identifier: Apache-2.0
#include "worker/train/reducer.hpp"

#include <ATen/ATen.h>
#include <torch/csrc/distributed/c10d/logger.hpp>
#include <torch/csrc/distributed/c10d/reducer.hpp>

#include <algorithm>
#include <limits>
#include <string>
#include <unordered_map>

namespace batchsweep::train {
namespace {

constexpr std::int64_t kFirstBucketBytes = 1 << 20, kBucketBytes = 25 << 20;

}  // namespace

ReducerAndLogger make_reducer(const std::vector<NamedTensor>& parameters, const GroupPtr& group) {
  std::vector<at::Tensor> tensors;
  std::unordered_map<std::size_t, std::string> names;
  for (const NamedTensor& parameter : parameters) {
    names.emplace(tensors.size(), parameter.name);
    tensors.push_back(parameter.tensor);
  }
  const std::vector<bool> sparse(tensors.size(), false);
  // One bucket at first; after the first backward pass they are made anew, in the order in which
  // the gradients came.
  auto buckets = std::get<0>(c10d::compute_bucket_assignment_by_size(
      tensors, {std::numeric_limits<std::size_t>::max() / 2}, sparse));
  std::reverse(buckets.begin(), buckets.end());
  ReducerAndLogger made;
  made.reducer = std::make_shared<c10d::Reducer>(
      tensors, std::move(buckets), group, sparse, kBucketBytes, /*find_unused_parameters=*/false,
      /*gradient_as_bucket_view=*/false, std::move(names), kFirstBucketBytes,
      /*skip_all_reduce_unused_params=*/false, /*use_python_reducer=*/false,
      /*bucket_bytes_cap_list=*/std::vector<std::int64_t>());
  made.logger = std::make_shared<c10d::Logger>(made.reducer);
  made.reducer->set_logger(made.logger);
  const c10::Device device = tensors.front().device();
  made.logger->set_construction_data_and_log(
      "batchsweep", device.is_cuda() ? std::vector<int>{device.index()} : std::vector<int>(),
      device.is_cuda() ? device.index() : -1, /*broadcast_buffers=*/true, /*has_sync_bn=*/false,
      /*static_graph=*/false);
  return made;
}

}  // namespace batchsweep::train
