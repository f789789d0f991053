// SPDX-License-Identifier: Apache-2.0
#include "worker/train/data/jpeg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csetjmp>
#include <cstdio>  // jpeglib.h needs it and does not say so
#include <cstring>

#include <jpeglib.h>

#include "worker/train/data/jpeg_file.hpp"
#include "worker/train/trial_errors.hpp"

namespace batchsweep::train {
namespace {

// A header that claims more is damaged or an attack; Pillow stops at the same number.
constexpr std::int64_t kMostPixels = 178'956'970;
constexpr std::size_t kReadableBehind = 1;
// Smooth chroma looks at the next sample to each side, which stands for so many pixels at most.
constexpr int kMargin = 4;

std::uint8_t product_255(int a, int b) {  // a * b / 255, rounded
  const int scaled = a * b + 128;
  return static_cast<std::uint8_t>((scaled + (scaled >> 8)) >> 8);
}

bool is_cmyk(J_COLOR_SPACE colours) { return colours == JCS_CMYK || colours == JCS_YCCK; }

}  // namespace

// libjpeg's state. Its errors leave through longjmp, so between attempt() and the library nothing
// may stand that has a destructor.
struct JpegDecoder::Library {
  Library() {
    state.err = jpeg_std_error(&errors);
    state.client_data = this;
    errors.error_exit = [](j_common_ptr common) {
      auto* self = static_cast<Library*>(common->client_data);
      common->err->format_message(common, self->said);
      std::longjmp(self->back, 1);
    };
    errors.emit_message = [](j_common_ptr, int) {};  // damage that decodes to something
    if (!attempt([&] { jpeg_create_decompress(&state); }))
      throw TrialFailed(fmt::format("libjpeg-turbo: {}", said));
  }
  ~Library() { jpeg_destroy_decompress(&state); }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  // False: the library gave up, and `said` why.
  template <typename Calls>
  bool attempt(const Calls& calls) {
    if (setjmp(back) != 0) return false;
    calls();
    return true;
  }

  jpeg_decompress_struct state{};
  jpeg_error_mgr errors{};
  std::jmp_buf back{};
  char said[JMSG_LENGTH_MAX] = {};
};

JpegDecoder::JpegDecoder() : library_(std::make_unique<Library>()) {}
JpegDecoder::~JpegDecoder() = default;

std::optional<std::string> JpegDecoder::open(const std::string& path) {
  if (auto problem = read_bytes(path, file_)) return problem;
  jpeg_decompress_struct& state = library_->state;
  jpeg_abort_decompress(&state);  // what was open before
  const bool read = library_->attempt([&] {
    jpeg_mem_src(&state, file_.data(), file_.size());
    jpeg_read_header(&state, TRUE);
  });
  if (!read) return fmt::format("no JPEG file ({})", library_->said);
  if (std::int64_t{state.image_width} * std::int64_t{state.image_height} > kMostPixels)
    return fmt::format("claims {} x {} pixels", state.image_width, state.image_height);
  if (!has_end(file_)) return "it is truncated";
  size_ = {.height = static_cast<int>(state.image_height),
           .width = static_cast<int>(state.image_width)};
  return std::nullopt;
}

std::optional<std::string> JpegDecoder::decode(const PixelBox& part) {
  const bool decoded = library_->attempt([&] { read_part(part); });
  if (!decoded) return fmt::format("cannot be decoded ({})", library_->said);
  return std::nullopt;
}

void JpegDecoder::read_part(const PixelBox& part) {
  jpeg_decompress_struct& state = library_->state;
  const bool cmyk = is_cmyk(state.jpeg_color_space);
  state.out_color_space = cmyk ? JCS_CMYK : JCS_RGB;
  state.dct_method = JDCT_ISLOW;
  state.do_fancy_upsampling = TRUE;
  jpeg_start_decompress(&state);

  const int top = std::max(part.top - kMargin, 0), bottom = part.top + part.height;
  auto left = static_cast<JDIMENSION>(std::max(part.left - kMargin, 0));
  auto width =
      static_cast<JDIMENSION>(std::min(part.left + part.width + kMargin, size_.width)) - left;
  jpeg_crop_scanline(&state, &left, &width);  // further to the left, where a block begins
  const std::size_t row_bytes =
      std::size_t{width} * static_cast<std::size_t>(state.output_components);
  const auto rows = static_cast<std::size_t>(bottom - top);
  if (const std::size_t needed = rows * row_bytes + kReadableBehind; pixels_.size() < needed)
    pixels_.resize(needed);
  jpeg_skip_scanlines(&state, static_cast<JDIMENSION>(top));
  for (std::size_t row = 0; row < rows;) {
    JSAMPROW at = pixels_.data() + row * row_bytes;
    row += jpeg_read_scanlines(&state, &at, 1);
  }
  jpeg_abort_decompress(&state);

  if (cmyk) cmyk_to_rgb(rows * width);
  picture_ = {.size = {.height = part.height, .width = part.width},
              .row_bytes = std::size_t{3} * width};
  picture_.pixels = pixels_.data() + static_cast<std::size_t>(part.top - top) * picture_.row_bytes +
                    std::size_t{3} * (static_cast<std::size_t>(part.left) - left);
}

// In place. Inks of JPEG files are stored inverted (Adobe's convention), so each colour is what its
// ink and black leave of the light.
void JpegDecoder::cmyk_to_rgb(std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint8_t* inks = pixels_.data() + 4 * i;
    const int light = inks[3];
    const std::uint8_t rgb[3] = {
        static_cast<std::uint8_t>(light - product_255(255 - inks[0], light)),
        static_cast<std::uint8_t>(light - product_255(255 - inks[1], light)),
        static_cast<std::uint8_t>(light - product_255(255 - inks[2], light))};
    std::memcpy(pixels_.data() + 3 * i, rgb, 3);
  }
}

}  // namespace batchsweep::train
