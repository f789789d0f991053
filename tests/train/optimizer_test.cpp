// SPDX-License-Identifier: Apache-2.0
// The fused operators against the published update rules, written out here in double.
#include "worker/train/optimizer.hpp"

#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include <cmath>

#include "worker/train/trial_errors.hpp"

namespace batchsweep::train {
namespace {

constexpr double kRate = 0.1, kDecay = 0.01, kMomentum = 0.9;

sweeps::TrialSpec spec_of(const std::string& optimizer) {
  sweeps::TrialSpec spec;
  spec.optimizer = optimizer;
  spec.learning_rate = kRate;
  spec.momentum = kMomentum;
  spec.weight_decay = kDecay;
  return spec;
}

// Three steps from 1.0 with gradients 0.5, -0.25, 2.
double after_three_steps(const sweeps::TrialSpec& spec) {
  at::Tensor weight = at::ones({1});
  weight.requires_grad_(true);
  const auto optimizer = make_optimizer(spec, {weight});
  for (const double gradient : {0.5, -0.25, 2.0}) {
    optimizer->zero_grad();
    (weight * gradient).sum().backward();
    static_cast<void>(optimizer->collect_gradients());
    optimizer->step();
  }
  return weight.item<double>();
}

TEST(Optimizer, SgdIsHeavyBallMomentumWithDecayInTheGradient) {
  double weight = 1, velocity = 0;
  for (const double gradient : {0.5, -0.25, 2.0}) {
    velocity = kMomentum * velocity + gradient + kDecay * weight;
    weight -= kRate * velocity;
  }
  EXPECT_NEAR(after_three_steps(spec_of("sgd")), weight, 1e-6);
}

TEST(Optimizer, SgdWithoutMomentumKeepsNoState) {
  auto spec = spec_of("sgd");
  spec.momentum = 0;
  double weight = 1;
  for (const double gradient : {0.5, -0.25, 2.0}) weight -= kRate * (gradient + kDecay * weight);
  EXPECT_NEAR(after_three_steps(spec), weight, 1e-6);
}

double adam(bool decoupled) {
  double weight = 1, mean = 0, square = 0, step = 0;
  for (double gradient : {0.5, -0.25, 2.0}) {
    ++step;
    if (decoupled) {
      weight -= kRate * kDecay * weight;
    } else {
      gradient += kDecay * weight;
    }
    mean = 0.9 * mean + 0.1 * gradient;
    square = 0.999 * square + 0.001 * gradient * gradient;
    const double unbiased_square = square / (1 - std::pow(0.999, step));
    weight -= kRate * mean / (1 - std::pow(0.9, step)) / (std::sqrt(unbiased_square) + 1e-8);
  }
  return weight;
}

TEST(Optimizer, AdamPutsDecayIntoTheGradient) {
  EXPECT_NEAR(after_three_steps(spec_of("adam")), adam(false), 1e-5);
}

TEST(Optimizer, AdamWDecaysTheWeightItself) {
  EXPECT_NEAR(after_three_steps(spec_of("adamw")), adam(true), 1e-5);
}

TEST(Optimizer, UpdatesEveryWeightOfEveryType) {
  for (const char* name : {"sgd", "adam", "adamw"}) {
    for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
      const at::Tensor weight = at::ones({100}, type).requires_grad_(true);
      const auto optimizer = make_optimizer(spec_of(name), {weight});
      for (int i = 0; i < 2; ++i) {
        optimizer->zero_grad();
        weight.sum().backward();
        static_cast<void>(optimizer->collect_gradients());
        optimizer->step();
      }
      EXPECT_LT(weight.max().item<double>(), 0.85) << name << " in " << c10::toString(type);
    }
  }
}

TEST(Optimizer, LeavesAParameterAloneThatNoLossDependsOn) {
  const at::Tensor used = at::ones({1}).requires_grad_(true),
                   unused = at::ones({1}).requires_grad_(true);
  const auto optimizer = make_optimizer(spec_of("sgd"), {unused, used});
  used.sum().backward();
  EXPECT_EQ(optimizer->collect_gradients().size(), 1u);
  optimizer->step();
  EXPECT_EQ(unused.item<double>(), 1);
  EXPECT_NE(used.item<double>(), 1);
}

TEST(Optimizer, SaysWhereNothingIsTrained) {
  const auto optimizer = make_optimizer(spec_of("sgd"), {at::ones({1}).requires_grad_(true)});
  EXPECT_THROW(static_cast<void>(optimizer->collect_gradients()), TrialFailed);
}

TEST(Optimizer, RefusesAnUnknownName) {
  EXPECT_THROW(static_cast<void>(make_optimizer(spec_of("lion"), {})), TrialFailed);
}

}  // namespace
}  // namespace batchsweep::train
