// SPDX-License-Identifier: Apache-2.0
// Fashion-MNIST (Xiao et al., 2017): 60,000 grey 28 x 28 images of 10 classes, from the idx files
// of Debian's dataset-fashion-mnist or of the folder in BATCHSWEEP_DATA. Images are scaled to mean
// 0 and deviation 1, resized where the trial asks for another size, and repeated for models of
// three channels.
#include <ATen/ATen.h>
#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <vector>

#include "sweeps/trial_defaults.hpp"
#include "worker/train/data/data_source.hpp"
#include "worker/train/data/sample_order.hpp"
#include "worker/train/trial_errors.hpp"

namespace batchsweep::train {
namespace {

constexpr const char* kDebianFolder = "/usr/share/datasets/fashion-mnist";
constexpr std::int64_t kSide = 28, kPixels = kSide * kSide, kClasses = 10;
constexpr double kMean = 0.2860, kDeviation = 0.3530;  // of the training images, pixels as 0 to 1

using Bytes = std::vector<std::uint8_t>;

std::filesystem::path find_file(const std::string& name) {
  const char* given = std::getenv("BATCHSWEEP_DATA");
  const std::filesystem::path folder = given != nullptr ? given : kDebianFolder;
  for (const auto& path : {folder / name, folder / "fashion-mnist" / name}) {
    if (std::filesystem::exists(path)) return path;
  }
  throw TrialFailed(fmt::format(
      "{} is not in {}: install the Debian package dataset-fashion-mnist, or name the folder "
      "that holds its files in BATCHSWEEP_DATA",
      name, folder.string()));
}

// The items of an idx file (gzip or plain): a magic number, one 32-bit size a dimension, then
// bytes.
Bytes read_idx(const std::string& name, std::uint32_t magic, std::size_t dimensions,
               std::size_t bytes_an_item) {
  const std::filesystem::path path = find_file(name);
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
  if (!file) throw TrialFailed(fmt::format("cannot open {}", path.string()));
  gzbuffer(file.get(), 1 << 18);
  const auto read = [&](Bytes& bytes) {
    if (gzread(file.get(), bytes.data(), static_cast<unsigned>(bytes.size())) !=
        static_cast<int>(bytes.size())) {
      throw TrialFailed(fmt::format("{} is damaged or cut: fetch it again", path.string()));
    }
  };
  Bytes header(4 * (1 + dimensions));
  read(header);
  const auto word = [&](std::size_t i) {
    std::uint32_t value = 0;
    for (std::size_t byte = 0; byte < 4; ++byte) value = value << 8 | header[4 * i + byte];
    return value;
  };
  if (word(0) != magic)
    throw TrialFailed(fmt::format("{} is no idx file of the expected kind", path.string()));
  Bytes items(word(1) * bytes_an_item);
  read(items);
  return items;
}

class FashionMnist final : public DataSource {
 public:
  FashionMnist(const DataRequest& request, std::int64_t channels)
      : images_(read_idx("train-images-idx3-ubyte.gz", 0x803, 3, kPixels)),
        labels_(read_idx("train-labels-idx1-ubyte.gz", 0x801, 1, 1)),
        order_(static_cast<std::int64_t>(labels_.size()), request.share(), request.seed,
               "fashion-mnist"),
        batch_size_(request.spec.batch_size),
        channels_(channels),
        height_(*request.spec.image_height),
        width_(*request.spec.image_width),
        device_(request.device),
        type_(request.type),
        format_(request.format) {
    if (images_.size() != labels_.size() * kPixels)
      throw TrialFailed("fashion-mnist has not one label an image");
  }

  Batch next() override {
    const auto pixels = at::empty({batch_size_, 1, kSide, kSide}, at::kByte);
    const auto classes = at::empty({batch_size_}, at::kLong);
    auto* pixel = pixels.data_ptr<std::uint8_t>();
    auto* label = classes.data_ptr<std::int64_t>();
    for (std::int64_t i = 0; i < batch_size_; ++i, pixel += kPixels) {
      const std::int64_t sample = order_.next().sample;
      std::copy_n(images_.begin() + sample * kPixels, kPixels, pixel);
      label[i] = labels_[static_cast<std::size_t>(sample)];
    }
    return {.input = prepared(pixels.to(device_)),
            .target = classes.to(device_),
            .samples = batch_size_,
            .tokens = 0};
  }

 private:
  at::Tensor prepared(const at::Tensor& pixels) const {
    at::Tensor images = pixels.to(at::kFloat).div_(255 * kDeviation).sub_(kMean / kDeviation);
    if (height_ != kSide || width_ != kSide) {
      images = at::upsample_bilinear2d(images, {height_, width_}, /*align_corners=*/false);
    }
    return images.to(type_).expand({-1, channels_, -1, -1}).contiguous(format_);
  }

  Bytes images_, labels_;
  SampleOrder order_;
  std::int64_t batch_size_, channels_, height_, width_;
  c10::Device device_;
  at::ScalarType type_;
  at::MemoryFormat format_;
};

}  // namespace

std::unique_ptr<DataSource> open_fashion_mnist(const DataRequest& request) {
  const sweeps::TrialSpec& spec = request.spec;
  const sweeps::ModelInfo* model = sweeps::model_of(spec);
  if (model == nullptr || model->domain != sweeps::Domain::kImage) {
    throw TrialFailed(fmt::format("fashion-mnist is images, {} is no model of images", spec.model));
  }
  if (*spec.num_classes < kClasses) {
    throw TrialFailed(fmt::format("num_classes {} is too few for fashion-mnist's {}",
                                  *spec.num_classes, kClasses));
  }
  return std::make_unique<FashionMnist>(request, model->channels);
}

}  // namespace batchsweep::train
