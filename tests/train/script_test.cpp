// SPDX-License-Identifier: Apache-2.0
// Models from TorchScript files; the files are made here, so that no Python is needed.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <torch/csrc/jit/api/module.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "worker/train/models/registry.hpp"
#include "worker/train/trial_errors.hpp"

namespace batchsweep::train {
namespace {

using testing::HasSubstr;

class ScriptFile {
 public:
  ~ScriptFile() { std::remove(path_.c_str()); }
  // forward is the body of a method of x with the weight w [3, 2].
  void save(const std::string& forward, bool trained = true) const {
    torch::jit::Module module("net");
    module.register_parameter("w",
                              at::arange(6, at::kFloat).view({3, 2}).set_requires_grad(trained),
                              /*is_buffer=*/false);
    module.register_buffer("calls", at::zeros({1}));
    module.define("def forward(self, x):\n  " + forward + "\n");
    module.save(path_);
  }
  void write(const std::string& text) const { std::ofstream(path_) << text; }
  [[nodiscard]] sweeps::TrialSpec spec() const {
    sweeps::TrialSpec spec;
    spec.model = "mine";
    spec.model_source = "script:" + path_;
    spec.input_shape = {3};
    return spec;
  }
  [[nodiscard]] std::string refusal() const {
    try {
      const auto model = build_model(spec(), c10::kCPU);
      static_cast<void>(model->forward({.input = at::ones({4, 3})}));
    } catch (const TrialFailed& error) {
      return error.what();
    }
    return "";
  }

 private:
  std::string path_ = testing::TempDir() + "script_test." + std::to_string(getpid()) + ".pt";
};

TEST(Script, GivesLossAndGradientsOfWhatItSays) {
  const ScriptFile file;
  file.save("return x @ self.w");
  const auto model = build_model(file.spec(), c10::kCPU);
  ASSERT_EQ(model->parameters().trained().size(), 1u);
  EXPECT_EQ(model->parameters().count(), 6);
  EXPECT_EQ(model->parameters().buffers()[0].name, "calls");

  const at::Tensor x = at::eye(3), target = at::arange(3, at::kLong).remainder(2);
  model->loss({.input = x, .target = target}).backward();
  const at::Tensor w = at::arange(6, at::kFloat).view({3, 2}).set_requires_grad(true);
  at::cross_entropy_loss(x.matmul(w), target).backward();
  EXPECT_TRUE(model->parameters().trained()[0].tensor.grad().allclose(w.grad()));
}

TEST(Script, TakesTheTrialsPrecision) {
  const ScriptFile file;
  file.save("return x @ self.w");
  auto spec = file.spec();
  spec.precision = "bf16-true";
  const auto model = build_model(spec, c10::kCPU);
  EXPECT_EQ(model->forward({.input = at::ones({2, 3}, at::kBFloat16)}).scalar_type(),
            at::kBFloat16);
}

TEST(Script, RefusesWhatCannotBeTrained) {
  const ScriptFile file;
  EXPECT_THAT(file.refusal(), HasSubstr("there is no file"));
  file.write("no script");
  EXPECT_THAT(file.refusal(), HasSubstr("is not a TorchScript file"));
  file.save("return x @ self.w", /*trained=*/false);
  EXPECT_THAT(file.refusal(), HasSubstr("no parameter that requires a gradient"));
  file.save("return (x @ self.w, x)");
  EXPECT_THAT(file.refusal(), HasSubstr("gives a Tuple: it must give the scores alone"));
  file.save("return x @ self.w");
  EXPECT_EQ(file.refusal(), "");
  auto checkpointed = file.spec();
  checkpointed.activation_checkpointing = true;
  EXPECT_THROW(build_model(checkpointed, c10::kCPU), TrialFailed);
}

}  // namespace
}  // namespace batchsweep::train
