// SPDX-License-Identifier: Apache-2.0
#include "worker/train/data/image_loader.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <exception>
#include <string_view>

#include "base/log.hpp"
#include "worker/train/data/image_view.hpp"
#include "worker/train/data/jpeg.hpp"
#include "worker/train/data/sample_order.hpp"
#include "worker/train/trial_errors.hpp"

namespace batchsweep::train {
namespace {

// How far the threads may be ahead. Never a matter of their number: on a CPU the ring counts as
// memory of the trial.
constexpr std::int64_t kBatchesAhead = 2, kImagesAhead = 64;
// What is worth telling of files that are skipped.
constexpr std::int64_t kJudgedFrom = 100, kMostSkippedOneIn = 10;
constexpr std::size_t kNamed = 20, kNamedInFailure = 3;
constexpr int kMostThreads = 8, kMostAskedFor = 256;

std::int64_t slots_for(std::int64_t batch_size) {
  return 1 + std::max(kBatchesAhead, (kImagesAhead + batch_size - 1) / batch_size);
}

}  // namespace

int decode_threads(std::int64_t ranks_on_host) {
  if (const char* given = std::getenv("BATCHSWEEP_DECODE_THREADS")) {
    const std::string_view text = given;
    int threads = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), threads);
    if (error == std::errc() && end == text.data() + text.size() && threads >= 1 &&
        threads <= kMostAskedFor)
      return threads;
    throw TrialFailed(
        fmt::format("BATCHSWEEP_DECODE_THREADS is \"{}\": expected 1 to {}", text, kMostAskedFor));
  }
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  const int cores = sched_getaffinity(0, sizeof allowed, &allowed) == 0
                        ? CPU_COUNT(&allowed)
                        : static_cast<int>(std::thread::hardware_concurrency());
  return std::clamp(cores / static_cast<int>(ranks_on_host) - 1, 1, kMostThreads);
}

// One thread's work. Holds the loader's mutex only to ask what comes next and to tell what became
// of it.
class ImageLoader::Worker {
 public:
  explicit Worker(ImageLoader& loader) : loader_(loader) {}

  void run() {
    while (const auto number = claim()) {
      std::optional<std::string> failure;
      try {
        failure = fill(*number);
      } catch (const std::exception& error) {
        failure = error.what();
      }
      const std::lock_guard lock(loader_.mutex_);
      Filling& filling = loader_.filling_of(*number);
      if (failure && !filling.failure) filling.failure = failure;
      if (++filling.filled == loader_.plan_.share.batch_size) loader_.slot_full_.notify_one();
    }
  }

 private:
  std::optional<std::int64_t> claim() {
    std::unique_lock lock(loader_.mutex_);
    const auto free = [&] {
      const auto slots = static_cast<std::int64_t>(loader_.ring_.size());
      // The batch given out last is still being looked at.
      const std::int64_t oldest = std::max<std::int64_t>(loader_.given_out_ - 1, 0);
      return loader_.claimed_ / loader_.plan_.share.batch_size < oldest + slots;
    };
    loader_.slot_free_.wait(lock, [&] { return loader_.stop_ || free(); });
    if (loader_.stop_) return std::nullopt;
    return loader_.claimed_++;
  }

  // The image of that place, or where it is bad the next of the order that is not.
  std::optional<std::string> fill(std::int64_t number) {
    const auto images = static_cast<std::int64_t>(loader_.folder_.images.size());
    const std::int64_t tries = std::min(images, kJudgedFrom);
    for (std::int64_t i = 0; i < tries; ++i) {
      const std::int64_t image =
          image_or_known_bad(number, loader_.plan_.share.number_of(number) + i);
      if (image < 0) continue;
      const std::string& path = loader_.folder_.images[static_cast<std::size_t>(image)].path;
      const auto problem = write(number, path);
      if (!problem) {
        label(number, image);
        return std::nullopt;
      }
      const std::lock_guard lock(loader_.mutex_);
      loader_.bad_.emplace(image, fmt::format("{}: {}", path, *problem));
      loader_.filling_of(number).skipped.push_back({number, image});
    }
    return fmt::format("{} of the images of {} in a row cannot be read", tries, loader_.plan_.what);
  }

  // The image with that number in the trial; -1: known as bad, and noted.
  std::int64_t image_or_known_bad(std::int64_t place, std::int64_t number) {
    const std::lock_guard lock(loader_.mutex_);
    const std::int64_t image = loader_.image_at(number);
    if (!loader_.bad_.contains(image)) return image;
    loader_.filling_of(place).skipped.push_back({place, image});
    return -1;
  }

  // What is wrong with the file, if anything is.
  std::optional<std::string> write(std::int64_t number, const std::string& path) {
    if (auto problem = decoder_.open(path)) return problem;
    const ImagePlan& plan = loader_.plan_;
    const auto in_trial = static_cast<std::uint64_t>(plan.share.number_of(number));
    SmallRandom random(mixed_seed(~plan.seed, in_trial));
    Resampling view = plan.view == ImageView::kTraining
                          ? training_view(decoder_.size(), plan.size, random)
                          : evaluation_view(decoder_.size(), plan.size);
    if (auto problem = decoder_.decode(view.from)) return problem;
    view.from.top = view.from.left = 0;
    const std::int64_t bytes = std::int64_t{3} * plan.size.height * plan.size.width;
    resampler_(
        decoder_.picture(), view,
        slot(number).pixels.data_ptr<std::uint8_t>() + number % plan.share.batch_size * bytes);
    return std::nullopt;
  }

  void label(std::int64_t number, std::int64_t image) {
    slot(number).labels.data_ptr<std::int64_t>()[number % loader_.plan_.share.batch_size] =
        loader_.folder_.images[static_cast<std::size_t>(image)].label;
  }

  const Slot& slot(std::int64_t number) const { return loader_.filling_of(number).slot; }

  ImageLoader& loader_;
  JpegDecoder decoder_;
  Resampler resampler_;
};

ImageLoader::ImageLoader(sweeps::ImageFolder folder, const ImagePlan& plan)
    : folder_(std::move(folder)), plan_(plan) {
  check_batch_size(static_cast<std::int64_t>(folder_.images.size()), plan.share.samples_of_all(),
                   plan.what);
  ring_.resize(static_cast<std::size_t>(slots_for(plan.share.batch_size)));
  for (Filling& filling : ring_) {
    const auto memory = at::TensorOptions().pinned_memory(plan.pinned);
    filling.slot = {
        .pixels = at::empty({plan.share.batch_size, plan.size.height, plan.size.width, 3},
                            memory.dtype(at::kByte)),
        .labels = at::empty({plan.share.batch_size}, memory.dtype(at::kLong))};
  }
  for (int i = 0; i < plan.threads; ++i) threads_.emplace_back([this] { Worker(*this).run(); });
}

ImageLoader::~ImageLoader() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  slot_free_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  if (said_.size() > kNamed) log_warn("{}: {} files were skipped in all", plan_.what, said_.size());
}

const ImageLoader::Slot& ImageLoader::next() {
  std::unique_lock lock(mutex_);
  if (given_out_ > 0) {  // the batch given out last is done with
    Filling& last = filling_of((given_out_ - 1) * plan_.share.batch_size);
    last.filled = 0;
    last.skipped.clear();
  }
  Filling& filling = filling_of(given_out_ * plan_.share.batch_size);
  ++given_out_;
  slot_free_.notify_all();
  slot_full_.wait(lock, [&] { return filling.filled == plan_.share.batch_size; });
  account_for(filling.skipped);
  if (filling.failure)
    throw TrialFailed(*filling.failure + (examples_.empty() ? "" : first_skipped()));
  return filling.slot;
}

// The slot that the rank's own image with that number goes into.
ImageLoader::Filling& ImageLoader::filling_of(std::int64_t number) {
  return ring_[static_cast<std::size_t>(number / plan_.share.batch_size) % ring_.size()];
}

std::int64_t ImageLoader::image_at(std::int64_t number) {
  const auto images = static_cast<std::int64_t>(folder_.images.size());
  const std::int64_t epoch = number / images;
  auto order = orders_.find(epoch);
  if (order == orders_.end()) {
    std::erase_if(orders_, [&](const auto& old) { return old.first + 1 < epoch; });
    order = orders_.emplace(epoch, epoch_order(images, plan_.seed, epoch)).first;
  }
  return order->second[static_cast<std::size_t>(number % images)];
}

// In the order of the batches, so that a trial fails at the same one each time.
void ImageLoader::account_for(const std::vector<Skipped>& skipped) {
  std::vector<Skipped> in_order = skipped;
  std::stable_sort(in_order.begin(), in_order.end());
  for (const Skipped& one : in_order) {
    if (!said_.insert(one.image).second) continue;
    const std::string& problem = bad_.at(one.image);
    if (said_.size() <= kNamed) log_warn("skipped {}", problem);
    if (examples_.size() < kNamedInFailure) examples_.push_back(problem);
  }
  const auto images = static_cast<std::int64_t>(folder_.images.size());
  read_ =
      std::min(images, read_ + plan_.share.batch_size + static_cast<std::int64_t>(skipped.size()));
  const auto bad = static_cast<std::int64_t>(said_.size());
  if (read_ < std::min(images, kJudgedFrom) || bad * kMostSkippedOneIn <= read_) return;
  throw TrialFailed(
      fmt::format("{}: {} of the {} files read so far had to be skipped, more than "
                  "one in {}{}",
                  plan_.what, bad, read_, kMostSkippedOneIn, first_skipped()));
}

std::string ImageLoader::first_skipped() const {
  return fmt::format("; mend or remove them, the first are: {}", fmt::join(examples_, "; "));
}

}  // namespace batchsweep::train
