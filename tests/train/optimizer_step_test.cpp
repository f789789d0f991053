// SPDX-License-Identifier: Apache-2.0
// One update of the weights, option by option, on a model whose gradient is the mean of its inputs.
#include "worker/train/optimizer_step.hpp"

#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include <cmath>
#include <functional>

#include "sweeps/trial_defaults.hpp"
#include "worker/train/clip_gradients.hpp"
#include "worker/train/device.hpp"
#include "worker/train/models/registry.hpp"
#include "worker/train/precision_policy.hpp"

namespace batchsweep::train {
namespace {

class Line final : public Model {
 public:
  Line() : Model({}), weight_(mutable_parameters().add("weight", {2}, Initial::kOnes)) {}
  at::Tensor forward(const Batch& batch) override { return batch.input * weight_; }
  at::Tensor loss(const Batch& batch) override { return forward(batch).sum(1).mean(); }
  [[nodiscard]] double weight() const { return weight_[0].item<double>(); }

 private:
  at::Tensor weight_;
};

Batch batch_of(std::vector<float> inputs) {
  const auto rows = static_cast<std::int64_t>(inputs.size() / 2);
  return {.input = at::tensor(inputs).view({rows, 2}), .target = {}, .samples = rows};
}

sweeps::TrialSpec sgd(double rate, double momentum = 0) {
  sweeps::TrialSpec spec;
  spec.optimizer = "sgd";
  spec.learning_rate = rate;
  spec.momentum = momentum;
  spec.weight_decay = 0;
  spec.warmup_steps = 1;
  spec.timed_steps = 3;
  return spec;
}

PrecisionPolicy policy(const std::string& precision) {
  static const std::unique_ptr<Device> device = open_cpu_device({.type = "cpu", .threads = 1});
  return {precision, *device};
}

TEST(OptimizerStep, FollowsTheGradient) {
  const PrecisionPolicy precision = policy("fp32");
  Line model;
  OptimizerStep step(sgd(0.5), precision, model);
  const StepResult result = step.run([] { return batch_of({2, 0, 4, 0}); });
  EXPECT_EQ(result.loss.item<double>(), 3);
  EXPECT_FALSE(result.loss.requires_grad());
  EXPECT_FALSE(result.found_inf.defined());
  EXPECT_EQ(model.weight(), 1 - 0.5 * 3);
}

TEST(OptimizerStep, OfAccumulatedBatchesIsThatOfOneLargeBatch) {
  const PrecisionPolicy precision = policy("fp32");
  auto spec = sgd(0.5);
  spec.gradient_accumulation_steps = 2;
  Line model;
  OptimizerStep step(spec, precision, model);
  int asked = 0;
  const StepResult result = step.run([&] { return batch_of({asked++ == 0 ? 2.0F : 4.0F, 0}); });
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(result.loss.item<double>(), 3);
  EXPECT_EQ(model.weight(), 1 - 0.5 * 3);
}

TEST(OptimizerStep, TakesTheLearningRateFromTheScheduleOverAllStepsOfTheTrial) {
  const PrecisionPolicy precision = policy("fp32");
  auto spec = sgd(0.5);
  spec.schedule = "cosine";
  Line model;
  OptimizerStep step(spec, precision, model);
  std::vector<double> rates;
  for (int i = 0; i < 4; ++i) {
    static_cast<void>(step.run([] { return batch_of({1, 1}); }));
    rates.push_back(step.optimizer().learning_rate());
  }
  const double half = std::sqrt(0.5) / 2;
  EXPECT_THAT(rates, testing::Pointwise(testing::DoubleNear(1e-9),
                                        {0.5, 0.25 + half / 2, 0.25, 0.25 - half / 2}));
  EXPECT_NEAR(model.weight(), 1 - (rates[0] + rates[1] + rates[2] + rates[3]), 1e-6);
}

TEST(OptimizerStep, ClipsByTheNormOfAllGradientsTogether) {
  const PrecisionPolicy precision = policy("fp32");
  auto spec = sgd(1);
  spec.clip_grad_norm = 1;
  Line model;
  OptimizerStep step(spec, precision, model);
  static_cast<void>(step.run([] { return batch_of({3, 4}); }));
  EXPECT_NEAR(model.weight(), 1 - 3.0 / 5, 1e-6);
  static_cast<void>(step.run([] { return batch_of({0.3F, 0.4F}); }));  // short enough
  EXPECT_NEAR(model.weight(), 1 - 3.0 / 5 - 0.3, 1e-6);
}

TEST(ClipGradients, ReturnsTheNormThatTheyHad) {
  const std::vector<at::Tensor> gradients{at::full({2}, 2.0), at::full({2, 1}, -2.0)};
  EXPECT_NEAR(clip_gradients(gradients, 1).item<double>(), 4, 1e-6);
  EXPECT_NEAR(gradients[1][0].item<double>(), -0.5, 1e-6);
}

// Of a Line in fp16, whose gradient overflows where the input is large.
struct ScaledSteps {
  explicit ScaledSteps(const sweeps::TrialSpec& spec) : step(spec, precision, model) {}
  StepResult run(float input) {
    return step.run([&] { return batch_of({input, input}); });
  }
  PrecisionPolicy precision = policy("fp16");
  Line model;
  OptimizerStep step;
};
constexpr float kTooLarge = 1e36F;

TEST(OptimizerStep, InFp16LeavesOutAnUpdateThatOverflowsAndHalvesTheScale) {
  ScaledSteps steps(sgd(0.5, 0.9));
  const StepResult skipped = steps.run(kTooLarge);
  EXPECT_EQ(skipped.found_inf.item<double>(), 1);
  EXPECT_NEAR(skipped.loss.item<double>(), 2e36, 1e30);  // as it is: finite and not scaled
  EXPECT_EQ(steps.model.weight(), 1);
  EXPECT_EQ(steps.step.scaler()->scale().item<double>(), 32768);

  const StepResult applied = steps.run(1);
  EXPECT_EQ(applied.found_inf.item<double>(), 0);
  EXPECT_EQ(steps.model.weight(), 0.5);
  EXPECT_EQ(steps.step.scaler()->scale().item<double>(), 32768);
}

TEST(OptimizerStep, GoesOnAfterASkippedOneAsIfItHadNotBeen) {
  for (const char* optimizer : {"sgd", "adam", "adamw"}) {
    auto spec = sgd(0.1, 0.9);
    spec.optimizer = optimizer;
    spec.weight_decay = 0.01;
    ScaledSteps with(spec), without(spec);
    for (const float input : {kTooLarge, 1.0F, kTooLarge, 0.5F}) with.run(input);
    for (const float input : {1.0F, 0.5F}) without.run(input);
    EXPECT_EQ(with.model.weight(), without.model.weight()) << optimizer;
    EXPECT_NE(with.model.weight(), 1) << optimizer;
  }
}

TEST(OptimizerStep, InFp16ClipsGradientsThatAreUnscaledAlready) {
  auto spec = sgd(1);
  spec.clip_grad_norm = 1;
  spec.gradient_accumulation_steps = 2;
  ScaledSteps steps(spec);
  const double before = steps.model.weight();
  steps.run(10);
  EXPECT_NEAR(steps.model.weight(), before - std::sqrt(0.5), 1e-5);
  const double after = steps.model.weight();
  EXPECT_EQ(steps.run(kTooLarge).found_inf.item<double>(), 1);  // its norm is not finite
  EXPECT_EQ(steps.model.weight(), after);
}

struct Losses {
  double first, last;
};
Losses three_steps(const std::string& model_name, const std::string& precision_name,
                   const std::function<void(sweeps::TrialSpec&)>& change = {}) {
  sweeps::TrialSpec spec;
  spec.model = spec.model_source = model_name;
  spec.precision = precision_name;
  spec.dropout = 0;
  if (change) change(spec);
  spec = sweeps::with_defaults(spec);
  const PrecisionPolicy precision = policy(precision_name);
  at::manual_seed(1);
  const auto model = build_model(spec, c10::kCPU);
  const bool text = spec.sequence_length.has_value();
  at::manual_seed(2);
  const at::Tensor tokens = at::randint(1000, 2000, {2, 16}, at::kLong);
  const at::Tensor images =
      at::randn({2, model_name == "lenet" ? 1 : 3, model_name == "lenet" ? 28 : 64,
                 model_name == "lenet" ? 28 : 64});
  const Batch batch{.input = text ? tokens
                                  : images.to(model->parameters().options().type)
                                        .contiguous(spec.memory_format == "channels_last"
                                                        ? at::MemoryFormat::ChannelsLast
                                                        : at::MemoryFormat::Contiguous),
                    .target = text ? tokens : at::arange(2, at::kLong),
                    .samples = 2};
  OptimizerStep step(spec, precision, *model);
  Losses losses{};
  for (int i = 0; i < 3; ++i) {
    const double loss = step.run([&] { return batch; }).loss.item<double>();
    (i == 0 ? losses.first : losses.last) = loss;
  }
  return losses;
}

TEST(OptimizerStep, InBf16ThroughoutStartsFromTheSameWeightsAndLearns) {
  for (const char* model : {"lenet", "resnet18", "bert-tiny"}) {
    const Losses fp32 = three_steps(model, "fp32"), bf16 = three_steps(model, "bf16-true");
    EXPECT_NEAR(bf16.first, fp32.first, 0.02 * fp32.first) << model;
    EXPECT_LT(bf16.last, bf16.first) << model;
  }
}

TEST(OptimizerStep, WithChannelsLastGivesTheLossesOfContiguousTensors) {
  for (const char* model : {"lenet", "resnet18"}) {
    const auto losses = [&](const char* format) {
      return three_steps(model, "fp32", [&](sweeps::TrialSpec& spec) {
        spec.memory_format = format;
        spec.learning_rate = 1e-3;
      });
    };
    const Losses plain = losses("contiguous"), last = losses("channels_last");
    EXPECT_NEAR(last.first, plain.first, 1e-5 * plain.first) << model;
    EXPECT_NEAR(last.last, plain.last, 1e-4 * plain.last) << model;
  }
}

}  // namespace
}  // namespace batchsweep::train
