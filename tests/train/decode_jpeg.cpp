// SPDX-License-Identifier: Apache-2.0
// A JPEG file as the training program sees it, for comparison with Pillow:
//   decode_jpeg FILE                                     "WIDTH HEIGHT\n" and the pixels
//   decode_jpeg FILE TOP LEFT HEIGHT WIDTH               those of that part
//   decode_jpeg FILE TOP LEFT HEIGHT WIDTH H W MIRRORED  the pixels of that part, scaled to H x W
//   decode_jpeg FILE H W                                 those of the view in evaluation
// Ends with 1 and a sentence where the file is skipped.
#include <fmt/format.h>

#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "worker/train/data/image_view.hpp"
#include "worker/train/data/jpeg.hpp"

namespace {

using namespace batchsweep::train;

// Rows behind each other.
std::vector<std::uint8_t> pixels_of(const Picture& picture) {
  std::vector<std::uint8_t> pixels;
  for (int y = 0; y < picture.size.height; ++y) {
    const std::uint8_t* row = picture.pixels + static_cast<std::size_t>(y) * picture.row_bytes;
    pixels.insert(pixels.end(), row, row + 3 * picture.size.width);
  }
  return pixels;
}

void print(const std::vector<std::uint8_t>& pixels, const PixelSize& size) {
  fmt::print("{} {}\n", size.width, size.height);
  std::fwrite(pixels.data(), 1, pixels.size(), stdout);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 && argc != 4 && argc != 6 && argc != 9) return 2;
  const auto number = [&](int i) { return std::stoi(argv[i]); };
  JpegDecoder decoder;
  const auto failed = [](const std::optional<std::string>& problem) {
    if (problem) fmt::print("{}\n", *problem);
    return problem.has_value();
  };
  if (failed(decoder.open(argv[1]))) return 1;
  PixelBox part{.height = decoder.size().height, .width = decoder.size().width};
  if (argc > 4)
    part = {.top = number(2), .left = number(3), .height = number(4), .width = number(5)};
  if (failed(decoder.decode(part))) return 1;
  const Picture& picture = decoder.picture();
  if (argc == 2 || argc == 6) {
    print(pixels_of(picture), picture.size);
    return 0;
  }
  const PixelSize size{.height = number(argc == 4 ? 2 : 6), .width = number(argc == 4 ? 3 : 7)};
  Resampling view = evaluation_view(picture.size, size);
  if (argc == 9) {
    view = {.from = {.height = part.height, .width = part.width},
            .to = size,
            .window = {.height = size.height, .width = size.width},
            .mirrored = number(8) != 0};
  }
  std::vector<std::uint8_t> out(static_cast<std::size_t>(size.height * size.width) * 3);
  Resampler()(picture, view, out.data());
  print(out, size);
  return 0;
}
