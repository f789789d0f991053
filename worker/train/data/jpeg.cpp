// SPDX-License-Identifier: Apache-2.0
#include "worker/train/data/jpeg.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

#include "worker/train/trial_errors.hpp"

namespace batchsweep::train {
namespace {

// A header that claims more is damaged or an attack; Pillow stops at the same number.
constexpr std::int64_t kMostPixels = 178'956'970;
constexpr std::size_t kReadableBehind = 1;

std::uint8_t product_255(int a, int b) {  // a * b / 255, rounded
  const int scaled = a * b + 128;
  return static_cast<std::uint8_t>((scaled + (scaled >> 8)) >> 8);
}

}  // namespace

JpegDecoder::JpegDecoder() { open_handle(); }

void JpegDecoder::open_handle() {
  handle_.reset(tjInitDecompress());
  if (!handle_) throw TrialFailed(fmt::format("libjpeg-turbo: {}", tjGetErrorStr2(nullptr)));
}

std::optional<std::string> JpegDecoder::read(const std::string& path) {
  if (auto problem = load(path)) return problem;
  return decode();
}

std::optional<std::string> JpegDecoder::load(const std::string& path) {
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat about {};
  if (!file || fstat(file.get(), &about) != 0) return std::strerror(errno);
  file_.resize(static_cast<std::size_t>(about.st_size));
  std::size_t have = 0;
  while (have < file_.size()) {
    const ssize_t got = ::read(file.get(), file_.data() + have, file_.size() - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::strerror(errno);
    if (got == 0) break;
    have += static_cast<std::size_t>(got);
  }
  file_.resize(have);
  if (file_.empty()) return "it is empty";
  return std::nullopt;
}

std::optional<std::string> JpegDecoder::decode() {
  int subsampling = 0, colours = 0;
  picture_ = {};
  if (tjDecompressHeader3(handle_.get(), file_.data(), file_.size(), &picture_.width,
                          &picture_.height, &subsampling, &colours) != 0) {
    std::string problem = fmt::format("no JPEG file ({})", tjGetErrorStr2(handle_.get()));
    open_handle();  // after this error the old one takes no other file
    return problem;
  }
  if (picture_.width < 1 || picture_.height < 1) return "no JPEG file (it holds no image)";
  if (std::int64_t{picture_.width} * picture_.height > kMostPixels)
    return fmt::format("claims {} x {} pixels", picture_.width, picture_.height);
  const bool cmyk = colours == TJCS_CMYK || colours == TJCS_YCCK;
  if (auto problem = decode_pixels(cmyk ? TJPF_CMYK : TJPF_RGB)) return problem;
  if (cmyk) cmyk_to_rgb();
  picture_.pixels = pixels_.data();
  return std::nullopt;
}

std::optional<std::string> JpegDecoder::decode_pixels(TJPF format) {
  const auto bytes_a_pixel = static_cast<std::size_t>(tjPixelSize[format]);
  pixels_.resize(static_cast<std::size_t>(picture_.width) *
                     static_cast<std::size_t>(picture_.height) * bytes_a_pixel +
                 kReadableBehind);
  if (tjDecompress2(handle_.get(), file_.data(), file_.size(), pixels_.data(), picture_.width,
                    /*pitch=*/0, picture_.height, format, TJFLAG_ACCURATEDCT) == 0) {
    return std::nullopt;
  }
  const std::string_view said = tjGetErrorStr2(handle_.get());
  if (tjGetErrorCode(handle_.get()) == TJERR_WARNING) {
    if (said.find("Premature end of JPEG file") == said.npos) return std::nullopt;
    return "it is truncated";
  }
  return fmt::format("cannot be decoded ({})", said);
}

// In place. Inks of JPEG files are stored inverted (Adobe's convention), so each colour is what its
// ink and black leave of the light.
void JpegDecoder::cmyk_to_rgb() {
  const auto count =
      static_cast<std::size_t>(picture_.width) * static_cast<std::size_t>(picture_.height);
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
