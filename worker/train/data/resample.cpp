// SPDX-License-Identifier: Apache-2.0
#include "worker/train/data/resample.hpp"

#include <algorithm>
#include <cmath>

#include "worker/train/data/mix.hpp"

namespace batchsweep::train {

// The weights of a triangle as wide as an output pixel (never narrower than an input pixel), for
// the outputs from `from` on. Each has the same number of taps, some of weight 0: loops whose
// length changes from pixel to pixel are slow.
void Resampler::Taps::set(int in, int out, int from, int outputs) {
  const double scale = static_cast<double>(in) / out, width = std::max(scale, 1.0);
  const auto center = [&](int i) { return (from + i + 0.5) * scale; };
  const auto begin = [&](int i) { return std::max(static_cast<int>(center(i) - width + 0.5), 0); };
  const auto end = [&](int i) { return std::min(static_cast<int>(center(i) + width + 0.5), in); };
  count = 0;
  for (int i = 0; i < outputs; ++i) count = std::max(count, end(i) - begin(i));
  first.resize(static_cast<std::size_t>(outputs));
  weights.assign(static_cast<std::size_t>(outputs) * static_cast<std::size_t>(count), 0);
  std::vector<double> exact(static_cast<std::size_t>(count));
  for (int i = 0; i < outputs; ++i) {
    double sum = 0;
    const int used = end(i) - begin(i);
    for (int x = 0; x < used; ++x) {
      const double distance = std::abs((begin(i) + x - center(i) + 0.5) * (1 / width));
      sum += exact[static_cast<std::size_t>(x)] = std::max(1 - distance, 0.0);
    }
    const int start = std::min(begin(i), in - count);  // none of the taps lies outside
    first[static_cast<std::size_t>(i)] = start;
    std::int32_t* to = weights.data() + i * count + (begin(i) - start);
    for (int x = 0; x < used; ++x) {
      to[x] = static_cast<std::int32_t>(0.5 + exact[static_cast<std::size_t>(x)] / sum *
                                                  (1 << kFractionBits));
    }
  }
}

void Resampler::Taps::mirror() {
  std::reverse(first.begin(), first.end());
  for (auto a = weights.begin(), b = weights.end(); b - a >= 2 * count; a += count) {
    b -= count;
    std::swap_ranges(a, a + count, b);
  }
}

void Resampler::operator()(const Picture& picture, const Resampling& what, std::uint8_t* out) {
  across_.set(what.from.width, what.to.width, what.window.left, what.window.width);
  down_.set(what.from.height, what.to.height, what.window.top, what.window.height);
  if (what.mirrored) across_.mirror();

  const int bytes = 3 * what.window.width;
  const auto row_bytes = static_cast<std::size_t>(bytes + kBehind);
  const int top = down_.first.front(), bottom = down_.first.back() + down_.count;
  rows_.resize(static_cast<std::size_t>(bottom - top) * row_bytes);
  for (int y = top; y < bottom; y += 2) {
    const int next = std::min(y + 1, bottom - 1);  // the last of an odd number is mixed twice
    const auto row = [&](int of) {
      return picture.pixels + static_cast<std::size_t>(what.from.top + of) * picture.row_bytes +
             std::size_t{3} * static_cast<std::size_t>(what.from.left);
    };
    const auto mixed = [&](int of) {
      return rows_.data() + static_cast<std::size_t>(of - top) * row_bytes;
    };
    mix_across(row(y), row(next), across_.first.data(), across_.weights.data(), across_.count,
               what.window.width, mixed(y), mixed(next));
  }

  for (int y = 0; y < what.window.height; ++y, out += bytes) {
    const std::size_t row =
        static_cast<std::size_t>(down_.first[static_cast<std::size_t>(y)] - top);
    mix_down(rows_.data() + row * row_bytes, row_bytes, down_.weights.data() + y * down_.count,
             down_.count, bytes, out);
  }
}

}  // namespace batchsweep::train
