// SPDX-License-Identifier: Apache-2.0
#include "worker/train/data/resample.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace batchsweep::train {
namespace {

constexpr int kFractionBits = 22;  // 8 bits of a pixel and 22 of its weight fill an int32
constexpr std::int32_t kHalf = 1 << (kFractionBits - 1);

using Bytes4 [[gnu::vector_size(4)]] = std::uint8_t;
using Ints4 [[gnu::vector_size(16)]] = std::int32_t;

// One output pixel after the other; the fourth lane is the next pixel's red and is dropped.
[[gnu::target_clones("avx2", "default")]] void mix_across(const std::uint8_t* row, const int* first,
                                                          const int* count,
                                                          const std::int32_t* weights, int most,
                                                          int outputs, std::uint8_t* out) {
  for (int x = 0; x < outputs; ++x, weights += most, out += 3) {
    const std::uint8_t* pixel = row + 3 * first[x];
    Ints4 sum = {kHalf, kHalf, kHalf, 0};
    for (int tap = 0; tap < count[x]; ++tap, pixel += 3) {
      Bytes4 bytes;
      std::memcpy(&bytes, pixel, sizeof bytes);
      sum += __builtin_convertvector(bytes, Ints4) * weights[tap];
    }
    const Bytes4 mixed = __builtin_convertvector(sum >> kFractionBits, Bytes4);
    std::memcpy(out, &mixed, 3);
  }
}

[[gnu::target_clones("avx2", "default")]] void add_weighted(const std::uint8_t* row,
                                                            std::int32_t weight, int bytes,
                                                            std::int32_t* sums) {
  for (int i = 0; i < bytes; ++i) sums[i] += row[i] * weight;
}

[[gnu::target_clones("avx2", "default")]] void round_down(const std::int32_t* sums, int bytes,
                                                          std::uint8_t* out) {
  for (int i = 0; i < bytes; ++i) out[i] = static_cast<std::uint8_t>(sums[i] >> kFractionBits);
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
  rows_.resize(static_cast<std::size_t>(bottom - top) * row_bytes);
  for (int y = top; y < bottom; ++y) {
    const std::size_t pixel =
        static_cast<std::size_t>(what.from.top + y) * static_cast<std::size_t>(picture.width) +
        static_cast<std::size_t>(what.from.left);
    mix_across(picture.pixels + 3 * pixel, across_.first.data(), across_.count.data(),
               across_.weights.data(), across_.most, what.window.width,
               rows_.data() + static_cast<std::size_t>(y - top) * row_bytes);
  }

  sums_.resize(row_bytes);
  for (int y = 0; y < what.window.height; ++y, out += bytes) {
    const auto at = static_cast<std::size_t>(y);
    std::fill(sums_.begin(), sums_.end(), kHalf);
    const std::uint8_t* row =
        rows_.data() + static_cast<std::size_t>(down_.first[at] - top) * row_bytes;
    const std::int32_t* weights = down_.weights.data() + at * static_cast<std::size_t>(down_.most);
    for (int tap = 0; tap < down_.count[at]; ++tap, row += bytes)
      add_weighted(row, weights[tap], bytes, sums_.data());
    round_down(sums_.data(), bytes, out);
  }
}

}  // namespace batchsweep::train
