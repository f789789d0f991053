// SPDX-License-Identifier: Apache-2.0
// Pixels in memory and boxes of them: what decoding, choosing a view and resampling share.
#pragma once

#include <cstddef>
#include <cstdint>

namespace batchsweep::train {

struct PixelSize {
  int height = 0, width = 0;
};
struct PixelBox {
  int top = 0, left = 0, height = 0, width = 0;
};

// Red, green, blue, a byte each, row by row; readable one byte behind the last.
struct Picture {
  const std::uint8_t* pixels = nullptr;
  PixelSize size;
  std::size_t row_bytes = 0;  // from one row to the next, 3 * size.width at least
};

}  // namespace batchsweep::train
