// SPDX-License-Identifier: Apache-2.0
// Activation checkpointing changes what is kept, never what comes out.
#include "worker/train/checkpoint.hpp"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gmock/gmock.h>

#include "sweeps/trial_defaults.hpp"
#include "worker/train/cpu_allocator.hpp"
#include "worker/train/models/registry.hpp"
#include "worker/train/precision_policy.hpp"

namespace batchsweep::train {
namespace {

sweeps::TrialSpec small(const std::string& model) {
  sweeps::TrialSpec spec;
  spec.model = spec.model_source = model;
  if (model != "bert-tiny") spec.num_classes = 10;
  return sweeps::with_defaults(spec);
}

Batch batch_for(const sweeps::TrialSpec& spec) {
  at::manual_seed(3);
  const std::string& model = spec.model;
  if (spec.model_head == "classify") {
    return {.input = at::randint(1000, 2000, {16, 128}, at::kLong),
            .target = at::zeros({16}, at::kLong)};
  }
  if (model == "bert-tiny") {
    const at::Tensor tokens = at::randint(1000, 2000, {2, 16}, at::kLong);
    return {.input = tokens, .target = tokens, .samples = 2, .tokens = 32};
  }
  const std::int64_t side = model == "lenet" ? 28 : 32, channels = model == "lenet" ? 1 : 3;
  return {.input = at::randn({2, channels, side, side}),
          .target = at::randint(0, 10, {2}, at::kLong),
          .samples = 2};
}

struct Trained {
  std::vector<at::Tensor> losses, gradients, buffers;
};

// Two accumulated passes.
Trained train(sweeps::TrialSpec spec, bool checkpointing, bool autocast = false) {
  spec.activation_checkpointing = checkpointing;
  at::set_num_threads(1);
  at::manual_seed(1);
  const auto model = build_model(spec, c10::kCPU);
  const Batch batch = batch_for(spec);
  at::manual_seed(2);  // dropout's
  Trained trained;
  for (int pass = 0; pass < 2; ++pass) {
    at::Tensor loss;
    {
      const Autocast lower(c10::kCPU, at::kBFloat16, autocast);
      loss = model->loss(batch);
    }
    loss.backward();
    trained.losses.push_back(loss.detach());
  }
  for (const NamedTensor& parameter : model->parameters().trained())
    trained.gradients.push_back(parameter.tensor.grad());
  for (const NamedTensor& buffer : model->parameters().buffers())
    trained.buffers.push_back(buffer.tensor);
  return trained;
}

double worst_difference(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
  double worst = a.size() == b.size() ? 0 : 1e9;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (a[i].defined() != b[i].defined()) return 1e9;
    if (!a[i].defined()) continue;
    const double scale = std::max(a[i].abs().max().item<double>(), 1e-6);
    worst = std::max(worst, (a[i] - b[i]).abs().max().item<double>() / scale);
  }
  return worst;
}

void expect_equal(const Trained& kept, const Trained& computed_again, const std::string& model) {
  EXPECT_LT(worst_difference(kept.losses, computed_again.losses), 1e-6) << model;
  EXPECT_LT(worst_difference(kept.gradients, computed_again.gradients), 1e-5) << model;
  EXPECT_EQ(worst_difference(kept.buffers, computed_again.buffers), 0) << model;
}

TEST(Checkpointing, GivesTheSameLossesGradientsAndStatistics) {
  for (const char* model : {"lenet", "resnet18", "bert-tiny"})
    expect_equal(train(small(model), false), train(small(model), true), model);
}

TEST(Checkpointing, GivesTheSameUnderAutocast) {
  for (const char* model : {"lenet", "bert-tiny"})
    expect_equal(train(small(model), false, true), train(small(model), true, true), model);
}

TEST(Checkpointing, GoesOnWithTheRandomNumbersThatComeNext) {
  const auto numbers = [](bool checkpointing) {
    static_cast<void>(train(small("bert-tiny"), checkpointing));
    return at::rand({4});
  };
  EXPECT_TRUE(at::equal(numbers(false), numbers(true)));
}

std::int64_t peak(const sweeps::TrialSpec& spec, bool checkpointing) {
  CpuAllocator& allocator = install_cpu_allocator();
  allocator.reset_peaks();
  const std::int64_t before = allocator.peak_allocated();
  static_cast<void>(train(spec, checkpointing));
  return allocator.peak_allocated() - before;
}

TEST(Checkpointing, LowersThePeak) {
  auto bert = small("bert-tiny");
  bert.model_head = "classify";  // whose scores are small
  bert.num_classes = 2;
  for (const sweeps::TrialSpec& spec : {small("resnet18"), bert})
    EXPECT_LT(peak(spec, true), peak(spec, false)) << spec.model;
}

TEST(Checkpointing, KeepsNothingWhereNobodyWantsGradients) {
  const at::Tensor weight = at::ones({2}).requires_grad_(true);
  const at::NoGradGuard no_grad;
  const at::Tensor output =
      recomputed({weight}, [](const std::vector<at::Tensor>& in) { return in[0] * 2; });
  EXPECT_FALSE(output.requires_grad());
}

// Autocast keeps one lowered copy of a weight for all who use it.
TEST(Checkpointing, LeavesAWeightItsGradientFromOutsideTheBlock) {
  const auto gradient = [](bool checkpointing) {
    const at::Tensor weight = at::full({2, 2}, 0.5).requires_grad_(true);
    const Block times_weight = [&](const std::vector<at::Tensor>& in) {
      return at::matmul(in[0], weight);
    };
    at::Tensor output;
    {
      const Autocast lower(c10::kCPU, at::kBFloat16, true);
      const at::Tensor input = at::ones({2, 2});
      output =
          times_weight({checkpointing ? recomputed({input}, times_weight) : times_weight({input})});
    }
    output.sum().backward();
    return weight.grad();
  };
  EXPECT_TRUE(at::equal(gradient(true), gradient(false)));
}

TEST(Checkpointing, TakesAnInputThatWantsNoGradient) {
  at::Tensor weight = at::full({2}, 3.0);
  weight.requires_grad_(true);
  const at::Tensor input = at::full({2}, 5.0);
  recomputed({input}, [&](const std::vector<at::Tensor>& in) {
    return (in[0] * weight).sum();
  }).backward();
  EXPECT_TRUE(at::equal(weight.grad(), at::full({2}, 5.0)));
  EXPECT_FALSE(input.grad().defined());
}

TEST(Checkpointing, RunsTheBlockOnceMoreAndNotTwice) {
  at::Tensor weight = at::ones({1});
  weight.requires_grad_(true);
  std::vector<bool> runs;
  recomputed({weight}, [&](const std::vector<at::Tensor>& in) {
    runs.push_back(recomputing());
    return (in[0] * in[0]).sum();
  }).backward();
  EXPECT_THAT(runs, testing::ElementsAre(false, true));
  EXPECT_EQ(weight.grad().item<double>(), 2);
}

}  // namespace
}  // namespace batchsweep::train
