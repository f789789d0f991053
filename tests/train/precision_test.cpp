// SPDX-License-Identifier: Apache-2.0
#include "worker/train/precision_policy.hpp"

#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include "worker/train/trial_errors.hpp"

namespace batchsweep::train {
namespace {

class FakeDevice final : public Device {
 public:
  bool bf16_in_hardware = true, fp16_in_hardware = true, refuse_bf16 = false, tf32 = false;
  c10::Device where() const override { return c10::kCPU; }
  void synchronize() override {}
  std::unique_ptr<StepTimer> make_step_timer() override { return nullptr; }
  PeakMemory take_peaks() override { return {}; }
  std::optional<OutOfMemory> out_of_memory() const override { return std::nullopt; }
  bool has_bf16() const override { return bf16_in_hardware; }
  bool has_fp16() const override { return fp16_in_hardware; }
  bool refuses_bf16() const override { return refuse_bf16; }
  bool has_tf32() const override { return tf32; }
};

at::ScalarType type_of_a_product() {
  return at::matmul(at::ones({2, 2}), at::ones({2, 2})).scalar_type();
}

TEST(Precision, Bf16LowersForwardPassesOnlyWhileTheGuardLives) {
  const PrecisionPolicy policy("bf16", FakeDevice{});
  {
    const Autocast forward = policy.for_forward();
    EXPECT_EQ(type_of_a_product(), at::kBFloat16);
  }
  EXPECT_EQ(type_of_a_product(), at::kFloat);
}

TEST(Precision, Fp16LowersForwardPassesAndScalesTheLoss) {
  const PrecisionPolicy policy("fp16", FakeDevice{});
  EXPECT_TRUE(policy.scales_loss());
  EXPECT_FALSE(PrecisionPolicy("bf16", FakeDevice{}).scales_loss());
  const Autocast forward = policy.for_forward();
  EXPECT_EQ(type_of_a_product(), at::kHalf);
}

TEST(Precision, Bf16TrueLeavesEverythingToTheWeights) {
  const PrecisionPolicy policy("bf16-true", FakeDevice{});
  EXPECT_FALSE(policy.scales_loss());
  const Autocast forward = policy.for_forward();
  EXPECT_EQ(type_of_a_product(), at::kFloat);
  EXPECT_EQ(policy.switches(), "float32=ieee autocast=off weights=bf16");
}

TEST(Precision, TheNextForwardPassSeesTheChangedWeights) {
  const PrecisionPolicy policy("bf16", FakeDevice{});
  at::Tensor weight = at::ones({2, 2});
  weight.requires_grad_(true);  // only such are cached
  const auto product = [&] {
    const Autocast forward = policy.for_forward();
    return at::matmul(at::ones({2, 2}), weight).sum().item<double>();
  };
  EXPECT_EQ(product(), 8);
  weight.detach().fill_(2);
  EXPECT_EQ(product(), 16);
}

TEST(Precision, Fp32LeavesEverythingInFullPrecision) {
  const PrecisionPolicy policy("fp32", FakeDevice{});
  const Autocast forward = policy.for_forward();
  EXPECT_EQ(type_of_a_product(), at::kFloat);
  for (const auto op : {at::Float32Op::CONV, at::Float32Op::MATMUL}) {
    EXPECT_EQ(at::globalContext().float32Precision(at::Float32Backend::CUDA, op),
              at::Float32Precision::IEEE);
    EXPECT_EQ(at::globalContext().float32Precision(at::Float32Backend::MKLDNN, op),
              at::Float32Precision::IEEE);
  }
}

TEST(Precision, Tf32IsOnForEveryOperatorOrNone) {
  FakeDevice device;
  device.tf32 = true;
  const PrecisionPolicy policy("tf32", device);
  for (const auto op : {at::Float32Op::CONV, at::Float32Op::MATMUL}) {
    EXPECT_EQ(at::globalContext().float32Precision(at::Float32Backend::CUDA, op),
              at::Float32Precision::TF32);
  }
}

TEST(Precision, SaysWhetherTheHardwareDoesIt) {
  FakeDevice emulating;
  emulating.bf16_in_hardware = emulating.fp16_in_hardware = false;
  EXPECT_TRUE(PrecisionPolicy("fp32", emulating).native());
  for (const char* lowered : {"bf16", "bf16-true", "fp16"}) {
    EXPECT_FALSE(PrecisionPolicy(lowered, emulating).native()) << lowered;
    EXPECT_TRUE(PrecisionPolicy(lowered, FakeDevice{}).native()) << lowered;
  }
}

TEST(Precision, SkipsWhatTheDeviceLacksAndRefusesWhatNobodyKnows) {
  FakeDevice old_card;
  old_card.refuse_bf16 = true;
  EXPECT_THROW(PrecisionPolicy("bf16", old_card), Unsupported);
  EXPECT_THROW(PrecisionPolicy("bf16-true", old_card), Unsupported);
  EXPECT_THROW(PrecisionPolicy("tf32", old_card), Unsupported);
  EXPECT_NO_THROW(PrecisionPolicy("fp16", old_card));
  EXPECT_THROW(PrecisionPolicy("fp8", FakeDevice{}), TrialFailed);
}

}  // namespace
}  // namespace batchsweep::train
