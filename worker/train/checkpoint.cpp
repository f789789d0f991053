// SPDX-License-Identifier: Apache-2.0
#include "worker/train/checkpoint.hpp"

#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/saved_variable.h>

#include <mutex>

#include "worker/train/precision_policy.hpp"

namespace batchsweep::train {
namespace {

using torch::autograd::variable_list;

thread_local bool computes_again = false;

// While it lives, what batch normalisation counts stays as the first run left it.
class ComputingAgain {
 public:
  ComputingAgain() : was_(std::exchange(computes_again, true)) {}
  ~ComputingAgain() { computes_again = was_; }
  ComputingAgain(const ComputingAgain&) = delete;
  ComputingAgain& operator=(const ComputingAgain&) = delete;

 private:
  bool was_;
};

at::Tensor random_state(c10::Device device) {
  at::Generator generator = at::globalContext().defaultGenerator(device);
  const std::lock_guard lock(generator.mutex());
  return generator.get_state();
}

void set_random_state(c10::Device device, const at::Tensor& state) {
  at::Generator generator = at::globalContext().defaultGenerator(device);
  const std::lock_guard lock(generator.mutex());
  generator.set_state(state);
}

// While it lives, the device's generator goes on from an earlier state.
class RandomFrom {
 public:
  RandomFrom(c10::Device device, const at::Tensor& state)
      : device_(device), now_(random_state(device)) {
    set_random_state(device, state);
  }
  ~RandomFrom() { set_random_state(device_, now_); }
  RandomFrom(const RandomFrom&) = delete;
  RandomFrom& operator=(const RandomFrom&) = delete;

 private:
  c10::Device device_;
  at::Tensor now_;
};

// What the second run of a block must find as the first one found it.
struct Surroundings {
  c10::Device device;
  at::Tensor random;  // dropout drops the same
  bool autocast;
  at::ScalarType autocast_type;

  static Surroundings now(c10::Device device) {
    return {.device = device,
            .random = random_state(device),
            .autocast = at::autocast::is_autocast_enabled(device.type()),
            .autocast_type = at::autocast::get_autocast_dtype(device.type())};
  }
};

// Stands in the graph for the whole block: its backward is the block's forward and backward.
class Recompute final : public torch::autograd::Node {
 public:
  Recompute(const std::vector<at::Tensor>& inputs, Block block, Surroundings surroundings)
      : block_(std::move(block)), surroundings_(std::move(surroundings)) {
    for (const at::Tensor& input : inputs) {
      inputs_.emplace_back(input, /*is_output=*/false);
      add_next_edge(torch::autograd::impl::gradient_edge(input));
    }
  }

  variable_list apply(variable_list&& gradients) override {
    const std::vector<at::Tensor> inputs = inputs_apart();
    torch::autograd::backward({run_again(inputs)}, gradients);
    variable_list input_gradients;
    for (const at::Tensor& input : inputs) input_gradients.push_back(input.grad());
    return input_gradients;
  }

  void release_variables() override {
    inputs_.clear();
    block_ = nullptr;
  }
  std::string name() const override { return "Recompute"; }

 private:
  // In a graph of their own, which ends at them.
  std::vector<at::Tensor> inputs_apart() const {
    std::vector<at::Tensor> apart;
    for (const torch::autograd::SavedVariable& saved : inputs_) {
      const at::Tensor input = saved.unpack();
      apart.push_back(input.detach().requires_grad_(input.requires_grad()));
    }
    return apart;
  }

  at::Tensor run_again(const std::vector<at::Tensor>& inputs) const {
    const Surroundings& as = surroundings_;
    const at::AutoGradMode with_gradients(true);
    const RandomFrom random(as.device, as.random);
    const Autocast autocast(as.device.type(), as.autocast_type, as.autocast);
    const ComputingAgain again;
    // Views, because autocast keeps lowered copies of leaves, and a kept copy would collect its
    // gradients in the lower type.
    std::vector<at::Tensor> views;
    for (const at::Tensor& input : inputs) views.push_back(input.alias());
    return block_(views);
  }

  std::vector<torch::autograd::SavedVariable> inputs_;
  Block block_;
  Surroundings surroundings_;
};

}  // namespace

bool recomputing() { return computes_again; }

at::Tensor recomputed(std::vector<at::Tensor> inputs, Block block) {
  if (!at::GradMode::is_enabled()) return block(inputs);
  Surroundings surroundings = Surroundings::now(inputs.front().device());
  at::Tensor output;
  {
    const at::NoGradGuard keep_nothing;
    output = block(inputs);
  }
  const std::shared_ptr<torch::autograd::Node> node(
      new Recompute(inputs, std::move(block), std::move(surroundings)),
      torch::autograd::deleteNode);
  torch::autograd::set_history(output, node);
  return output;
}

}  // namespace batchsweep::train
