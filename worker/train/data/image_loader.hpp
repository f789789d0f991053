// SPDX-License-Identifier: Apache-2.0
// Threads that decode the next batches of images while the model trains, into a ring of slots.
// Which image comes where and how it is cropped follow from the seed and its number in the trial
// alone, so neither the number of threads nor their timing shows in a batch. Knows nothing of
// models and devices.
#pragma once

#include <ATen/core/Tensor.h>

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "sweeps/image_folder.hpp"
#include "worker/train/data/resample.hpp"
#include "worker/train/data/sample_order.hpp"

namespace batchsweep::train {

enum class ImageView { kTraining, kEvaluation };

struct ImagePlan {
  std::string what;  // the folder, for messages
  Share share;
  PixelSize size;
  std::uint64_t seed = 0;
  ImageView view = ImageView::kTraining;
  int threads = 1;
  bool pinned = false;  // memory that a GPU can copy from by itself
};

// BATCHSWEEP_DECODE_THREADS, else the cores that this process may use, shared with the trial's
// other ranks on the host, but one, 8 at most. Throws TrialFailed where the variable is no number
// of threads.
[[nodiscard]] int decode_threads(std::int64_t ranks_on_host = 1);

class ImageLoader {
 public:
  // Throws TrialFailed where a batch holds more than all images.
  ImageLoader(sweeps::ImageFolder folder, const ImagePlan& plan);
  ~ImageLoader();
  ImageLoader(const ImageLoader&) = delete;
  ImageLoader& operator=(const ImageLoader&) = delete;

  struct Slot {
    at::Tensor pixels;  // bytes [n, height, width, 3]
    at::Tensor labels;  // int64 [n]
  };
  // Waits for the next batch; it stays until the next call. Throws TrialFailed once too many files
  // had to be skipped.
  [[nodiscard]] const Slot& next();

 private:
  struct Skipped {
    std::int64_t number;  // of the rank's own place that it was meant for
    std::int64_t image;
    bool operator<(const Skipped& other) const { return number < other.number; }
  };
  struct Filling {
    Slot slot;
    std::int64_t filled = 0;
    std::vector<Skipped> skipped;  // a place's own in the order of its tries
    std::optional<std::string> failure;
  };
  class Worker;

  Filling& filling_of(std::int64_t number);
  std::int64_t image_at(std::int64_t number);
  void account_for(const std::vector<Skipped>& skipped);
  [[nodiscard]] std::string first_skipped() const;

  const sweeps::ImageFolder folder_;
  const ImagePlan plan_;
  std::int64_t read_ = 0;              // files tried for the batches given out
  std::set<std::int64_t> said_;        // images known as bad from these batches
  std::vector<std::string> examples_;  // the first of them, for people

  std::mutex mutex_;  // of everything below
  std::condition_variable slot_free_, slot_full_;
  bool stop_ = false;
  std::int64_t claimed_ = 0;    // numbers given to threads
  std::int64_t given_out_ = 0;  // batches
  std::vector<Filling> ring_;
  std::map<std::int64_t, std::vector<std::int32_t>> orders_;  // of the epochs at work
  std::map<std::int64_t, std::string> bad_;                   // image -> what is wrong with it

  std::vector<std::thread> threads_;  // last: they use all of the above
};

}  // namespace batchsweep::train
