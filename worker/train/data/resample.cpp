// SPDX-License-Identifier: Apache-2.0
#include "worker/train/data/resample.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace batchsweep::train {
namespace {

constexpr int kFractionBits = 22;        // 8 bits of a pixel and 22 of its weight fill an int32
constexpr std::size_t kReadBehind = 16;  // what vectors read and write past the last row
constexpr std::int32_t kHalf = 1 << (kFractionBits - 1);

using Bytes16 [[gnu::vector_size(16)]] = std::uint8_t;
using Ints4 [[gnu::vector_size(16)]] = std::int32_t;

// One output pixel after the other. Four bytes are read and written where three are meant: the
// fourth lane is the next pixel's, which is written after it.
[[gnu::target_clones("avx2", "default")]] void mix_across(const std::uint8_t* row, const int* first,
                                                          const int* count,
                                                          const std::int32_t* weights, int most,
                                                          int outputs, std::uint8_t* out) {
  const Bytes16 zero{};
  for (int x = 0; x < outputs; ++x, weights += most, out += 3) {
    const std::uint8_t* pixel = row + 3 * first[x];
    Ints4 sum = {kHalf, kHalf, kHalf, 0};
    for (int tap = 0; tap < count[x]; ++tap, pixel += 3) {
      std::int32_t word = 0;
      std::memcpy(&word, pixel, sizeof word);
      const auto bytes = reinterpret_cast<Bytes16>(Ints4{word, 0, 0, 0});
      sum += reinterpret_cast<Ints4>(__builtin_shufflevector(bytes, zero, 0, 16, 16, 16, 1, 16, 16,
                                                             16, 2, 16, 16, 16, 3, 16, 16, 16)) *
             weights[tap];
    }
    const auto mixed = reinterpret_cast<Bytes16>(sum >> kFractionBits);
    const auto packed = reinterpret_cast<Ints4>(
        __builtin_shufflevector(mixed, mixed, 0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12));
    const std::int32_t word = packed[0];
    std::memcpy(out, &word, sizeof word);
  }
}

// One output row from `taps` rows below each other; sums of a few columns stay in registers.
[[gnu::target_clones("avx2", "default")]] void mix_down(const std::uint8_t* rows,
                                                        const std::int32_t* weights, int taps,
                                                        int bytes, std::uint8_t* out) {
  constexpr int kColumns = 16;
  for (int from = 0; from < bytes; from += kColumns) {
    const int columns = std::min(kColumns, bytes - from);
    std::int32_t sums[kColumns];
    for (std::int32_t& sum : sums) sum = kHalf;
    const std::uint8_t* row = rows + from;
    for (int tap = 0; tap < taps; ++tap, row += bytes) {
      for (int i = 0; i < kColumns; ++i) sums[i] += row[i] * weights[tap];  // reads on past the row
    }
    for (int i = 0; i < columns; ++i)
      out[from + i] = static_cast<std::uint8_t>(sums[i] >> kFractionBits);
  }
}

}  // namespace

// The weights of a triangle as wide as an output pixel (never narrower than an input pixel), for
// the outputs from `from` on.
void Resampler::Taps::set(int in, int out, int from, int outputs) {
  const double scale = static_cast<double>(in) / out, width = std::max(scale, 1.0);
  most = 2 * static_cast<int>(std::ceil(width)) + 1;
  first.resize(static_cast<std::size_t>(outputs));
  count.resize(static_cast<std::size_t>(outputs));
  weights.assign(static_cast<std::size_t>(outputs) * static_cast<std::size_t>(most), 0);
  std::vector<double> exact(static_cast<std::size_t>(most));
  for (int i = 0; i < outputs; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const double center = (from + i + 0.5) * scale;
    const int begin = std::max(static_cast<int>(center - width + 0.5), 0);
    const int end = std::min(static_cast<int>(center + width + 0.5), in);
    double sum = 0;
    for (int x = begin; x < end; ++x) {
      const double distance = std::abs((x - center + 0.5) * (1 / width));
      sum += exact[static_cast<std::size_t>(x - begin)] = std::max(1 - distance, 0.0);
    }
    first[at] = begin;
    count[at] = end - begin;
    for (int x = 0; x < end - begin; ++x) {
      weights[at * static_cast<std::size_t>(most) + static_cast<std::size_t>(x)] =
          static_cast<std::int32_t>(0.5 + exact[static_cast<std::size_t>(x)] / sum *
                                              (1 << kFractionBits));
    }
  }
}

void Resampler::Taps::mirror() {
  std::reverse(first.begin(), first.end());
  std::reverse(count.begin(), count.end());
  for (auto a = weights.begin(), b = weights.end(); b - a >= 2 * most; a += most) {
    b -= most;
    std::swap_ranges(a, a + most, b);
  }
}

void Resampler::operator()(const Picture& picture, const Resampling& what, std::uint8_t* out) {
  across_.set(what.from.width, what.to.width, what.window.left, what.window.width);
  down_.set(what.from.height, what.to.height, what.window.top, what.window.height);
  if (what.mirrored) across_.mirror();

  const int bytes = 3 * what.window.width;
  const auto row_bytes = static_cast<std::size_t>(bytes);
  const int top = down_.first.front(), bottom = down_.first.back() + down_.count.back();
  rows_.resize(static_cast<std::size_t>(bottom - top) * row_bytes + kReadBehind);
  for (int y = top; y < bottom; ++y) {
    const std::size_t pixel =
        static_cast<std::size_t>(what.from.top + y) * static_cast<std::size_t>(picture.width) +
        static_cast<std::size_t>(what.from.left);
    mix_across(picture.pixels + 3 * pixel, across_.first.data(), across_.count.data(),
               across_.weights.data(), across_.most, what.window.width,
               rows_.data() + static_cast<std::size_t>(y - top) * row_bytes);
  }

  for (int y = 0; y < what.window.height; ++y, out += bytes) {
    const auto at = static_cast<std::size_t>(y);
    mix_down(rows_.data() + static_cast<std::size_t>(down_.first[at] - top) * row_bytes,
             down_.weights.data() + at * static_cast<std::size_t>(down_.most), down_.count[at],
             bytes, out);
  }
}

}  // namespace batchsweep::train
