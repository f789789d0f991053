// SPDX-License-Identifier: Apache-2.0
// JPEG files to pixels, through libjpeg-turbo: the full decoding (accurate inverse transform,
// smooth chroma), so that pixels are those of Pillow. Only what is asked for is decoded: of the
// rows above and the columns beside it no more than the entropy code, of what is below nothing.
// Knows nothing of tensors. One decoder a thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "worker/train/data/picture.hpp"

namespace batchsweep::train {

class JpegDecoder {
 public:
  JpegDecoder();
  ~JpegDecoder();

  // What is wrong with the file; nothing: size() is that of its image, and decode() may be called
  // once. A truncated file is wrong whatever is asked of it; damage within it, which decodes to
  // something, is not (Pillow does the same).
  [[nodiscard]] std::optional<std::string> open(const std::string& path);
  [[nodiscard]] PixelSize size() const { return size_; }

  // A part of the image, to the last bit as if all of it were decoded. Grey and CMYK become RGB.
  // What is wrong, if anything is; nothing: picture() shows it until the next open().
  [[nodiscard]] std::optional<std::string> decode(const PixelBox& part);
  [[nodiscard]] const Picture& picture() const { return picture_; }

 private:
  struct Library;
  void read_part(const PixelBox& part);
  void cmyk_to_rgb(std::size_t count);

  std::unique_ptr<Library> library_;
  std::vector<std::uint8_t> file_, pixels_;
  PixelSize size_;
  Picture picture_;
};

}  // namespace batchsweep::train
