// SPDX-License-Identifier: Apache-2.0
// `attention` chooses the kernel on a CPU too, and says what it cannot do.
#include "worker/train/attention.hpp"

#include <ATen/ATen.h>
#include <ATen/SDPBackend.h>
#include <gmock/gmock.h>

#include "worker/train/trial_errors.hpp"

namespace batchsweep::train {
namespace {

class Attention : public testing::Test {
 protected:
  ~Attention() override { choose_attention("auto", c10::kCPU); }

  static at::SDPBackend chosen(double dropout = 0) {
    const at::Tensor x = at::randn({2, 2, 64, 16});
    return static_cast<at::SDPBackend>(at::_fused_sdp_choice(x, x, x, {}, dropout, true));
  }
};

TEST_F(Attention, IsTheKernelAskedFor) {
  choose_attention("math", c10::kCPU);
  EXPECT_EQ(chosen(), at::SDPBackend::math);
  choose_attention("flash", c10::kCPU);
  EXPECT_EQ(chosen(), at::SDPBackend::flash_attention);
  choose_attention("auto", c10::kCPU);
  EXPECT_EQ(chosen(), at::SDPBackend::flash_attention);
  EXPECT_EQ(chosen(0.1), at::SDPBackend::math);
}

TEST_F(Attention, OfAllKindsIsTheSameFunction) {
  const at::Tensor q = at::randn({2, 2, 64, 16}), k = at::randn({2, 2, 64, 16}),
                   v = at::randn({2, 2, 64, 16});
  const auto attended = [&](const char* attention) {
    choose_attention(attention, c10::kCPU);
    return at::scaled_dot_product_attention(q, k, v, {}, 0, true);
  };
  EXPECT_LT((attended("math") - attended("flash")).abs().max().item<double>(), 1e-5);
}

TEST_F(Attention, OfGpusIsSkippedOnCpus) {
  EXPECT_THROW(choose_attention("efficient", c10::kCPU), Unsupported);
  EXPECT_THROW(choose_attention("cudnn", c10::kCPU), Unsupported);
}

TEST_F(Attention, SaysWhereTheKernelThatIsLeftCannotDoIt) {
  const at::Tensor x = at::randn({2, 2, 64, 16});
  choose_attention("flash", c10::kCPU);
  EXPECT_NO_THROW(require_attention(x, x, x, 0, true));
  EXPECT_THROW(require_attention(x, x, x, 0.1, true), Unsupported);
  const at::Tensor empty = at::randn({2, 2, 0, 16});
  EXPECT_THROW(require_attention(empty, empty, empty, 0, true), Unsupported);
  choose_attention("auto", c10::kCPU);
  EXPECT_NO_THROW(require_attention(x, x, x, 0.1, true));
}

}  // namespace
}  // namespace batchsweep::train
