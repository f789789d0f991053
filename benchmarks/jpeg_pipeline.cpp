// SPDX-License-Identifier: Apache-2.0
// Images a second and core: a plain loop over libjpeg-turbo (read the file, decode it to RGB), the
// same loop with the crop and the resampling, and the pipeline of images:DIR on the same files (all
// that, and normalise), in turns. Time is that of the process on all its cores, so a second thread
// is no gain. benchmarks/jpeg.py runs it for the table in docs/performance.md.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <turbojpeg.h>

#include <chrono>
#include <ctime>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "sweeps/image_folder.hpp"
#include "sweeps/trial_defaults.hpp"
#include "worker/train/data/data_source.hpp"
#include "worker/train/data/image_view.hpp"
#include "worker/train/data/jpeg.hpp"

namespace {

using namespace batchsweep;

double process_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Images a second of the plain loop over the first `count`.
double plain_loop(const sweeps::ImageFolder& folder, std::size_t count) {
  const double start = process_seconds();
  tjhandle handle = tjInitDecompress();
  std::vector<unsigned char> file, pixels;
  for (std::size_t i = 0; i < count; ++i) {
    std::ifstream from(folder.images[i % folder.images.size()].path,
                       std::ios::binary | std::ios::ate);
    file.resize(static_cast<std::size_t>(from.tellg()));
    from.seekg(0);
    from.read(reinterpret_cast<char*>(file.data()), static_cast<std::streamsize>(file.size()));
    int width = 0, height = 0, subsampling = 0, colours = 0;
    tjDecompressHeader3(handle, file.data(), file.size(), &width, &height, &subsampling, &colours);
    pixels.resize(static_cast<std::size_t>(width) * static_cast<std::size_t>(height) * 3);
    tjDecompress2(handle, file.data(), file.size(), pixels.data(), width, 0, height, TJPF_RGB,
                  TJFLAG_ACCURATEDCT);
  }
  tjDestroy(handle);
  return static_cast<double>(count) / (process_seconds() - start);
}

// And with the work of a training view, but no ring and no threads.
double plain_views(const sweeps::ImageFolder& folder, std::size_t count) {
  const double start = process_seconds();
  train::JpegDecoder decoder;
  train::Resampler resample;
  train::SmallRandom random(1);
  const train::PixelSize size{.height = 224, .width = 224};
  std::vector<std::uint8_t> out(224 * 224 * 3);
  for (std::size_t i = 0; i < count; ++i) {
    if (decoder.open(folder.images[i % folder.images.size()].path)) continue;
    train::Resampling view = train::training_view(decoder.size(), size, random);
    if (decoder.decode(view.from)) continue;
    view.from.top = view.from.left = 0;
    resample(decoder.picture(), view, out.data());
  }
  return static_cast<double>(count) / (process_seconds() - start);
}

// Returns once the decoding threads have filled their ring and sleep.
void wait_until_idle() {
  for (double before = -1, now = process_seconds(); now - before > 1e-3;) {
    before = now;
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    now = process_seconds();
  }
}

// And of the pipeline, from a full ring to a full ring: as many are decoded as are given out.
double pipeline(const std::string& path, std::size_t count, std::int64_t batch_size) {
  sweeps::TrialSpec spec;
  spec.model = spec.model_source = "resnet18";
  spec.data = "images:" + path;
  spec.batch_size = batch_size;
  spec = sweeps::with_defaults(spec);
  const auto data = train::open_data({.spec = spec, .seed = 1});
  static_cast<void>(data->next());
  wait_until_idle();
  const double start = process_seconds();
  double images = 0;
  while (images < static_cast<double>(count)) images += static_cast<double>(data->next().samples);
  wait_until_idle();
  return images / (process_seconds() - start);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    fmt::print(stderr, "usage: jpeg_pipeline DIR IMAGES TURNS\n");
    return 2;
  }
  at::set_num_threads(1);
  const std::string path = argv[1];
  const auto folder = sweeps::read_image_folder(path);
  const std::size_t count = std::stoul(argv[2]);
  plain_loop(folder, folder.images.size());  // the files into the page cache, the library started
  pipeline(path, 64, 32);
  for (int turn = 0; turn < std::stoi(argv[3]); ++turn) {
    const double plain = plain_loop(folder, count), views = plain_views(folder, count),
                 ours = pipeline(path, count, 32);
    fmt::print("{{\"plain_per_s\":{:.2f},\"views_per_s\":{:.2f},\"pipeline_per_s\":{:.2f}}}\n",
               plain, views, ours);
  }
  return 0;
}
