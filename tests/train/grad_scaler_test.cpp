// SPDX-License-Identifier: Apache-2.0
// The rules of dynamic loss scaling, step by step.
#include "worker/train/grad_scaler.hpp"

#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include <limits>

namespace batchsweep::train {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

double number(const at::Tensor& tensor) { return tensor.item<double>(); }

// One step whose scaled gradient is `gradient`.
void step(GradScaler& scaler, double gradient) {
  scaler.unscale({at::full({3}, gradient)});
  scaler.update();
}

TEST(GradScaler, StartsAsPyTorchsDoes) {
  const GradScaler scaler(c10::kCPU);
  EXPECT_EQ(number(scaler.scale()), 65536);
  EXPECT_EQ(number(scaler.growth_tracker()), 0);
  EXPECT_EQ(number(scaler.scaled(at::ones({}))), 65536);
}

TEST(GradScaler, DividesGradientsByTheScaleInPlace) {
  GradScaler scaler(c10::kCPU, 1024);
  const std::vector<at::Tensor> gradients{at::full({2}, 2048.0), at::full({2, 2}, -512.0)};
  scaler.unscale(gradients);
  EXPECT_EQ(number(gradients[0].sum()), 4);
  EXPECT_EQ(number(gradients[1].sum()), -2);
  EXPECT_EQ(number(scaler.found_inf()), 0);
}

TEST(GradScaler, OneNumberThatIsNotFiniteHalvesTheScale) {
  for (const double bad : {kInfinity, -kInfinity, kNan}) {
    GradScaler scaler(c10::kCPU, 1024);
    const at::Tensor gradient = at::ones({3});
    gradient[1] = bad;
    scaler.unscale({at::ones({3}), gradient});
    EXPECT_EQ(number(scaler.found_inf()), 1);
    scaler.update();
    EXPECT_EQ(number(scaler.scale()), 512);
    EXPECT_EQ(number(scaler.growth_tracker()), 0);
  }
}

TEST(GradScaler, ForgetsAnOverflowAtTheNextStep) {
  GradScaler scaler(c10::kCPU);
  step(scaler, kInfinity);
  step(scaler, 1);
  EXPECT_EQ(number(scaler.found_inf()), 0);
  EXPECT_EQ(number(scaler.scale()), 32768);
}

TEST(GradScaler, DoublesAfterTwoThousandStepsWithoutOverflow) {
  GradScaler scaler(c10::kCPU, 1024);
  for (int i = 0; i < 1999; ++i) step(scaler, 1);
  EXPECT_EQ(number(scaler.scale()), 1024);
  EXPECT_EQ(number(scaler.growth_tracker()), 1999);
  step(scaler, 1);
  EXPECT_EQ(number(scaler.scale()), 2048);
  EXPECT_EQ(number(scaler.growth_tracker()), 0);
}

TEST(GradScaler, AnOverflowStartsTheCountAnew) {
  GradScaler scaler(c10::kCPU, 1024);
  for (int i = 0; i < 1999; ++i) step(scaler, 1);
  step(scaler, kNan);
  step(scaler, 1);
  EXPECT_EQ(number(scaler.scale()), 512);
  EXPECT_EQ(number(scaler.growth_tracker()), 1);
}

}  // namespace
}  // namespace batchsweep::train
