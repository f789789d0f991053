// SPDX-License-Identifier: Apache-2.0
#include "worker/train/models/script.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/codegen/fuser/interface.h>
#include <torch/csrc/jit/passes/autocast.h>
#include <torch/csrc/jit/passes/tensorexpr_fuser.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/csrc/jit/serialization/import.h>

#include <filesystem>

#include "worker/train/trial_errors.hpp"

namespace batchsweep::train {
namespace {

// The script runs operator by operator, as written: the optimizing executor would make the first
// steps slow and compile anew for other shapes. Autocast is ours.
void run_as_written() {
  torch::jit::getExecutorMode() = false;
  torch::jit::setGraphExecutorOptimize(false);
  torch::jit::setTensorExprFuserEnabled(false);
  torch::jit::setAutocastMode(false);
}

torch::jit::Module load(const std::string& path, c10::Device device) {
  if (!std::filesystem::is_regular_file(path))
    throw TrialFailed(fmt::format("there is no file {} on this host", path));
  try {
    return torch::jit::load(path, device);
  } catch (const c10::Error& error) {
    throw TrialFailed(fmt::format(
        "{} is not a TorchScript file (save it with torch.jit.script(model).save(FILE)): {}", path,
        error.what_without_backtrace()));
  }
}

class Script final : public Model {
 public:
  Script(const std::string& path, const ModelOptions& options)
      : Model(options), module_(load(path, options.device)), path_(path) {
    module_.train();
    const at::NoGradGuard no_grad;
    for (const auto& named : module_.named_parameters()) adopt(named.name, named.value);
    for (const auto& named : module_.named_buffers()) {
      convert(named.value);
      mutable_parameters().adopt_buffer(named.name, named.value);
    }
    if (parameters().trained().empty()) {
      throw TrialFailed(fmt::format(
          "{} has no parameter that requires a gradient: there is nothing to train", path));
    }
  }

  at::Tensor forward(const Batch& batch) override {
    const c10::IValue scores = module_.forward({batch.input});
    if (!scores.isTensor()) {
      throw TrialFailed(fmt::format("forward of {} gives a {}: it must give the scores alone",
                                    path_, scores.tagKind()));
    }
    return scores.toTensor();
  }

  void set_training(bool training) override { module_.train(training); }

 private:
  void adopt(const std::string& name, const at::Tensor& tensor) {
    convert(tensor);
    if (tensor.requires_grad()) mutable_parameters().adopt(name, tensor);
  }
  // In place, because the script holds the tensor too.
  void convert(const at::Tensor& tensor) const {
    const ModelOptions& options = parameters().options();
    if (!tensor.is_floating_point()) return;
    at::Tensor data = tensor.variable_data().to(options.type);
    if (options.channels_last && data.dim() == 4)
      data = data.contiguous(at::MemoryFormat::ChannelsLast);
    tensor.set_data(data);
  }

  torch::jit::Module module_;
  std::string path_;
};

}  // namespace

std::unique_ptr<Model> load_script(const sweeps::TrialSpec& spec, const ModelOptions& options) {
  if (options.checkpointing) {
    throw TrialFailed(
        "activation_checkpointing needs to know a model's blocks, and a TorchScript file does not "
        "name its own: write it with torch.utils.checkpoint as another [[runtime]]");
  }
  run_as_written();
  return std::make_unique<Script>(spec.model_source.substr(kScriptPrefix.size()), options);
}

}  // namespace batchsweep::train
