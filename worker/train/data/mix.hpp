// SPDX-License-Identifier: Apache-2.0
// The two inner loops of resampling: sums of bytes times weights in fixed point, rounded. The same
// numbers on every processor; CMake picks the file.
#pragma once

#include <cstdint>

namespace batchsweep::train {

// Weights of an output sum up to 1 << kFractionBits: 8 bits of a pixel and 22 of its weight fill an
// int32.
constexpr int kFractionBits = 22;
// Bytes behind a row that may be read, and behind an output of mix_across that may be written.
constexpr int kBehind = 16;

// `outputs` pixels of each of two rows: output x is mixed of the `taps` pixels of three bytes from
// first[x] on, with weights[x * taps] and following.
void mix_across(const std::uint8_t* upper, const std::uint8_t* lower, const int* first,
                const std::int32_t* weights, int taps, int outputs, std::uint8_t* upper_out,
                std::uint8_t* lower_out);

// `bytes` of a row, mixed of `taps` rows that lie `stride` bytes apart.
void mix_down(const std::uint8_t* rows, std::size_t stride, const std::int32_t* weights, int taps,
              int bytes, std::uint8_t* out);

}  // namespace batchsweep::train
