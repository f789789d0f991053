// SPDX-License-Identifier: Apache-2.0
// A JPEG file as the training program sees it, for comparison with Pillow:
//   decode_jpeg FILE                                     "WIDTH HEIGHT\n" and the pixels
//   decode_jpeg FILE TOP LEFT HEIGHT WIDTH H W MIRRORED  the pixels of that part, scaled to H x W
//   decode_jpeg FILE H W                                 those of the view in evaluation
// Ends with 1 and a sentence where the file is skipped.
#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <vector>

#include "worker/train/data/image_view.hpp"
#include "worker/train/data/jpeg.hpp"

namespace {

using namespace batchsweep::train;

void print(const std::uint8_t* pixels, int height, int width) {
  fmt::print("{} {}\n", width, height);
  std::fwrite(pixels, 3, static_cast<std::size_t>(height) * static_cast<std::size_t>(width),
              stdout);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 && argc != 4 && argc != 9) return 2;
  JpegDecoder decoder;
  if (const auto problem = decoder.read(argv[1])) {
    fmt::print("{}\n", *problem);
    return 1;
  }
  const Picture& picture = decoder.picture();
  if (argc == 2) {
    print(picture.pixels, picture.height, picture.width);
    return 0;
  }
  const auto number = [&](int i) { return std::stoi(argv[i]); };
  const PixelSize size{.height = number(argc == 4 ? 2 : 6), .width = number(argc == 4 ? 3 : 7)};
  Resampling view = evaluation_view({.height = picture.height, .width = picture.width}, size);
  if (argc == 9) {
    view = {.from = {.top = number(2), .left = number(3), .height = number(4), .width = number(5)},
            .to = size,
            .window = {.top = 0, .left = 0, .height = size.height, .width = size.width},
            .mirrored = number(8) != 0};
  }
  std::vector<std::uint8_t> out(static_cast<std::size_t>(size.height * size.width) * 3);
  Resampler()(picture, view, out.data());
  print(out.data(), size.height, size.width);
  return 0;
}
