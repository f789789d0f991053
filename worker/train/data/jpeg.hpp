// SPDX-License-Identifier: Apache-2.0
// JPEG files to pixels, through libjpeg-turbo's own interface: the full decoding (accurate inverse
// transform, smooth chroma), so that pixels are those of Pillow. Knows nothing of tensors. One
// decoder a thread.
#pragma once

#include <turbojpeg.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/unique_handle.hpp"

namespace batchsweep::train {

// Red, green, blue, a byte each, row by row; readable one byte behind the last.
struct Picture {
  const std::uint8_t* pixels = nullptr;
  int width = 0, height = 0;
};

class JpegDecoder {
 public:
  JpegDecoder();
  // What is wrong with the file; nothing: picture() shows it. Grey and CMYK become RGB. A truncated
  // file is wrong; damage within it, which decodes to something, is not (Pillow does the same).
  [[nodiscard]] std::optional<std::string> read(const std::string& path);
  [[nodiscard]] const Picture& picture() const { return picture_; }  // until the next read()

 private:
  void open_handle();
  [[nodiscard]] std::optional<std::string> load(const std::string& path);
  [[nodiscard]] std::optional<std::string> decode();
  [[nodiscard]] std::optional<std::string> decode_pixels(TJPF format);
  void cmyk_to_rgb();

  struct HandleTraits {
    using Value = tjhandle;
    static Value empty() { return nullptr; }
    static void close(Value handle) noexcept { tjDestroy(handle); }
  };
  UniqueHandle<HandleTraits> handle_;
  std::vector<std::uint8_t> file_, pixels_;
  Picture picture_;
};

}  // namespace batchsweep::train
