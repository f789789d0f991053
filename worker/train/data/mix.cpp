// SPDX-License-Identifier: Apache-2.0
#include "worker/train/data/mix_plain.hpp"

namespace batchsweep::train {

void mix_across(const std::uint8_t* upper, const std::uint8_t* lower, const int* first,
                const std::int32_t* weights, int taps, int outputs, std::uint8_t* upper_out,
                std::uint8_t* lower_out) {
  plain_mix_across(upper, first, weights, taps, outputs, upper_out);
  plain_mix_across(lower, first, weights, taps, outputs, lower_out);
}

void mix_down(const std::uint8_t* rows, std::size_t stride, const std::int32_t* weights, int taps,
              int bytes, std::uint8_t* out) {
  plain_mix_down(rows, stride, weights, taps, bytes, out);
}

}  // namespace batchsweep::train
