// SPDX-License-Identifier: Apache-2.0
// mix.hpp for any processor: what the faster ones are held to.
#pragma once

#include "worker/train/data/mix.hpp"

namespace batchsweep::train {

inline void plain_mix_across(const std::uint8_t* row, const int* first, const std::int32_t* weights,
                             int taps, int outputs, std::uint8_t* out) {
  for (int x = 0; x < outputs; ++x, weights += taps, out += 3) {
    const std::uint8_t* pixel = row + 3 * first[x];
    for (int channel = 0; channel < 3; ++channel) {
      std::int32_t sum = 1 << (kFractionBits - 1);
      for (int tap = 0; tap < taps; ++tap) sum += pixel[3 * tap + channel] * weights[tap];
      out[channel] = static_cast<std::uint8_t>(sum >> kFractionBits);
    }
  }
}

inline void plain_mix_down(const std::uint8_t* rows, std::size_t stride,
                           const std::int32_t* weights, int taps, int bytes, std::uint8_t* out) {
  for (int i = 0; i < bytes; ++i) {
    std::int32_t sum = 1 << (kFractionBits - 1);
    const std::uint8_t* row = rows + i;
    for (int tap = 0; tap < taps; ++tap, row += stride) sum += *row * weights[tap];
    out[i] = static_cast<std::uint8_t>(sum >> kFractionBits);
  }
}

}  // namespace batchsweep::train
