// SPDX-License-Identifier: Apache-2.0
// images:DIR: a folder of JPEG files, one folder a class. Bytes travel to the device; there they
// become numbers of ImageNet's mean 0 and deviation 1, whose layout in memory is channels_last.
#include <ATen/ATen.h>
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <optional>

#include "base/error.hpp"
#include "sweeps/image_folder.hpp"
#include "sweeps/trial_defaults.hpp"
#include "worker/train/data/data_source.hpp"
#include "worker/train/data/image_loader.hpp"
#include "worker/train/data/normalise.hpp"
#include "worker/train/trial_errors.hpp"

namespace batchsweep::train {
namespace {

constexpr std::string_view kPrefix = "images:";

// From the ring to a device with memory of its own: on a stream beside the computation, which waits
// for no more than its own batch. Compiled, but not run on a GPU so far.
class SideCopy {
 public:
  explicit SideCopy(c10::Device device)
      : device_(device),
        guard_(device.type()),
        side_(guard_.getStreamFromGlobalPool(device, /*isHighPriority=*/false)),
        copied_(device.type()) {}

  ImageLoader::Slot operator()(const ImageLoader::Slot& slot) {
    ImageLoader::Slot there;
    {
      const c10::StreamGuard on_side(side_);
      there = {.pixels = slot.pixels.to(device_, slot.pixels.scalar_type(), /*non_blocking=*/true),
               .labels = slot.labels.to(device_, slot.labels.scalar_type(), /*non_blocking=*/true)};
      copied_.record(side_);
    }
    const c10::Stream compute = guard_.getStream(device_);
    copied_.block(compute);
    there.pixels.record_stream(compute);
    there.labels.record_stream(compute);
    return there;
  }
  // The slot may be filled anew once this returns.
  void wait() { copied_.synchronize(); }

 private:
  c10::Device device_;
  c10::impl::VirtualGuardImpl guard_;
  c10::Stream side_;
  c10::Event copied_;
};

class Images final : public DataSource {
 public:
  Images(const DataRequest& request, sweeps::ImageFolder folder, const ImagePlan& plan,
         std::int64_t channels)
      : batch_size_(plan.share.batch_size),
        channels_(channels),
        type_(request.type),
        format_(request.format),
        normalise_(request.device),
        loader_(std::move(folder), plan) {
    if (!request.device.is_cpu()) side_copy_.emplace(request.device);
  }

  Batch next() override {
    if (side_copy_ && asked_) side_copy_->wait();
    asked_ = true;
    const ImageLoader::Slot& slot = loader_.next();
    const ImageLoader::Slot here = side_copy_ ? (*side_copy_)(slot) : slot;
    return {.input = normalised(here.pixels),
            .target = side_copy_ ? here.labels : here.labels.clone(),  // the ring goes on
            .samples = batch_size_,
            .tokens = 0};
  }

 private:
  at::Tensor normalised(const at::Tensor& pixels) const {
    at::Tensor images = normalise_(pixels, format_);
    if (channels_ == 1) images = normalise_.grey(images);
    return images.to(type_).contiguous(format_);
  }

  std::int64_t batch_size_, channels_;
  at::ScalarType type_;
  at::MemoryFormat format_;
  Normaliser normalise_;
  std::optional<SideCopy> side_copy_;
  bool asked_ = false;
  ImageLoader loader_;
};

sweeps::ImageFolder read_folder(const std::string& path) {
  try {
    return sweeps::read_image_folder(path);
  } catch (const UsageError& error) {
    throw TrialFailed(error.what());
  } catch (const std::filesystem::filesystem_error& error) {
    throw TrialFailed(
        fmt::format("cannot read the images of {}: {}; is the path right on this "
                    "host?",
                    path, error.code().message()));
  }
}

void check_model(const sweeps::TrialSpec& spec) {
  const sweeps::ModelInfo* model = sweeps::model_of(spec);
  if (model != nullptr && model->domain != sweeps::Domain::kImage)
    throw TrialFailed(fmt::format("{} is images, {} is no model of images", spec.data, spec.model));
  if (sweeps::task_of(spec) != sweeps::Task::kClassify) {
    throw TrialFailed(fmt::format(
        "{} tells the class of an image, and {} shall tell that of each pixel: use data = "
        "\"synthetic\" or \"tensors:FILE.safetensors\" (x and y)",
        spec.data, spec.model));
  }
  if (!spec.image_height || !spec.image_width) {
    throw TrialFailed(
        fmt::format("image_size is missing: how large shall the images be for {}?", spec.model));
  }
}

}  // namespace

std::unique_ptr<DataSource> open_images(const DataRequest& request) {
  const sweeps::TrialSpec& spec = request.spec;
  check_model(spec);
  sweeps::ImageFolder folder = read_folder(spec.data.substr(kPrefix.size()));
  const auto classes = static_cast<std::int64_t>(folder.classes.size());
  if (spec.num_classes && *spec.num_classes < classes) {
    throw TrialFailed(fmt::format("num_classes {} is too few for the {} classes of {}",
                                  *spec.num_classes, classes, spec.data));
  }
  const ImagePlan plan{.what = spec.data,
                       .share = request.share(),
                       .size = {.height = static_cast<int>(*spec.image_height),
                                .width = static_cast<int>(*spec.image_width)},
                       .seed = request.seed,
                       .threads = decode_threads(request.ranks_on_host),
                       .pinned = request.device.is_cuda()};
  const sweeps::ModelInfo* model = sweeps::model_of(spec);
  return std::make_unique<Images>(request, std::move(folder), plan,
                                  model == nullptr ? 3 : model->channels);
}

}  // namespace batchsweep::train
