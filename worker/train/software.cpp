// SPDX-License-Identifier: Apache-2.0
#include "worker/train/software.hpp"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <fmt/format.h>
#include <torch/headeronly/version.h>

#include "worker/train/device.hpp"

namespace batchsweep::train {

results::SoftwareRecord software_of(const std::string& program, const std::string& switches) {
  const CudaVersions versions = cuda_versions();
  const at::Context& context = at::globalContext();
  results::SoftwareRecord software;
  software.program = program;
  software.torch_version = TORCH_VERSION;
  software.cuda_version = versions.cuda;
  software.cudnn_version = versions.cudnn;
  software.nccl_version = versions.nccl;
  software.switches = fmt::format(
      "{} cudnn_benchmark={:d} deterministic={:d} cpu_capability={} onednn={:d} interop_threads={}",
      switches, context.benchmarkCuDNN(), context.deterministicAlgorithms(),
      at::get_cpu_capability(), context.userEnabledMkldnn(), at::get_num_interop_threads());
  return software;
}

}  // namespace batchsweep::train
