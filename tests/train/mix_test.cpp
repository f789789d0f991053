// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <random>
#include <vector>

#include "worker/train/data/mix.hpp"
#include "worker/train/data/mix_plain.hpp"

namespace batchsweep::train {
namespace {

using Bytes = std::vector<std::uint8_t>;

struct Numbers {
  std::mt19937 random{1};

  Bytes bytes(std::size_t count) {
    Bytes made(count);
    for (auto& byte : made) byte = static_cast<std::uint8_t>(random());
    return made;
  }
  // Of each output up to 1 in fixed point.
  std::vector<std::int32_t> weights(int outputs, int taps) {
    std::vector<std::int32_t> made;
    for (int i = 0; i < outputs; ++i) {
      std::int32_t left = 1 << kFractionBits;
      for (int tap = 1; tap < taps; ++tap) {
        made.push_back(static_cast<std::int32_t>(random() % static_cast<unsigned>(left + 1)));
        left -= made.back();
      }
      made.push_back(left);
    }
    return made;
  }
};

Bytes without_rest(Bytes bytes) {
  bytes.resize(bytes.size() - kBehind);
  return bytes;
}

TEST(Mix, AcrossIsThePlainLoopWhateverTheProcessor) {
  Numbers numbers;
  for (const int taps : {1, 2, 3, 4, 7}) {
    const int outputs = 37, pixels = 60;
    const Bytes upper = numbers.bytes(3 * pixels + kBehind),
                lower = numbers.bytes(3 * pixels + kBehind);
    const auto weights = numbers.weights(outputs, taps);
    std::vector<int> first(outputs);
    for (int& at : first) at = static_cast<int>(numbers.random() % (pixels - 7));
    Bytes a(3 * outputs + kBehind), b = a, expected_a = a, expected_b = a;
    mix_across(upper.data(), lower.data(), first.data(), weights.data(), taps, outputs, a.data(),
               b.data());
    plain_mix_across(upper.data(), first.data(), weights.data(), taps, outputs, expected_a.data());
    plain_mix_across(lower.data(), first.data(), weights.data(), taps, outputs, expected_b.data());
    EXPECT_EQ(without_rest(a), without_rest(expected_a)) << taps;
    EXPECT_EQ(without_rest(b), without_rest(expected_b)) << taps;
  }
}

TEST(Mix, DownIsThePlainLoopWhateverTheProcessorAndWritesNoByteMore) {
  Numbers numbers;
  for (const int taps : {1, 2, 3, 6}) {
    for (const int bytes : {1, 15, 16, 17, 96, 101}) {
      const std::size_t stride = 120;
      const Bytes rows = numbers.bytes(stride * static_cast<std::size_t>(taps));
      const auto weights = numbers.weights(1, taps);
      Bytes out(static_cast<std::size_t>(bytes) + 8, 77), expected = out;
      mix_down(rows.data(), stride, weights.data(), taps, bytes, out.data());
      plain_mix_down(rows.data(), stride, weights.data(), taps, bytes, expected.data());
      EXPECT_EQ(out, expected) << taps << " taps, " << bytes << " bytes";
    }
  }
}

}  // namespace
}  // namespace batchsweep::train
