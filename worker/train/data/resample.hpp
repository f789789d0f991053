// SPDX-License-Identifier: Apache-2.0
// Bilinear resampling with antialiasing, as Pillow does it (and torchvision on its images): first
// along the rows, then along the columns, bytes in between, to the last bit. Keeps its buffers: one
// a thread.
#pragma once

#include <cstdint>
#include <vector>

#include "worker/train/data/picture.hpp"

namespace batchsweep::train {

// What is asked of a picture: `from` is scaled to `to`, and the window of that is written.
struct Resampling {
  PixelBox from;
  PixelSize to;
  PixelBox window;
  bool mirrored = false;  // left and right of the window changed
};

class Resampler {
 public:
  // `out` takes window.height * window.width * 3 bytes.
  void operator()(const Picture& picture, const Resampling& what, std::uint8_t* out);

 private:
  // The inputs that make an output, and their weights in fixed point.
  struct Taps {
    int count = 0;
    std::vector<int> first;
    std::vector<std::int32_t> weights;
    void set(int in, int out, int from, int outputs);
    void mirror();
  };

  Taps across_, down_;
  std::vector<std::uint8_t> rows_;
};

}  // namespace batchsweep::train
