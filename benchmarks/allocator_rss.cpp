// SPDX-License-Identifier: Apache-2.0
// One training in this process, with the counting allocator or LibTorch's own: the counted peak
// beside the growth of the resident set, and the time of a step. benchmarks/allocator.py runs it
// for the table in docs/performance.md.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <string>
#include <thread>

#include "sweeps/trial_defaults.hpp"
#include "worker/train/cpu_allocator.hpp"
#include "worker/train/data/data_source.hpp"
#include "worker/train/models/registry.hpp"
#include "worker/train/optimizer.hpp"

namespace {

using namespace batchsweep;

// A line of /proc/self/status, in bytes.
double status_bytes(const std::string& key) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(key + ":")) return 1024 * std::stod(line.substr(key.size() + 1));
  }
  return 0;
}

std::vector<double> step_times(const std::string& model_name, std::int64_t batch_size, int steps) {
  sweeps::TrialSpec spec;
  spec.model = spec.model_source = model_name;
  spec.batch_size = batch_size;
  spec.image_height = spec.image_width = 64;
  spec.num_classes = 10;
  spec = sweeps::with_defaults(spec);
  at::manual_seed(1);
  const auto model = train::build_model(spec, c10::kCPU);
  const auto data = train::open_data({.spec = spec, .seed = 1});
  const auto optimizer = train::make_optimizer(spec, model->parameters().trained_tensors());
  std::vector<double> times;
  for (int i = 0; i < steps; ++i) {
    const auto start = std::chrono::steady_clock::now();
    optimizer->zero_grad();
    model->loss(data->next()).backward();
    static_cast<void>(optimizer->collect_gradients());
    optimizer->step();
    times.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return times;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    fmt::print(stderr, "usage: allocator_rss MODEL BATCH_SIZE ours|default STEPS\n");
    return 2;
  }
  const bool ours = std::string(argv[3]) == "ours";
  train::CpuAllocator* allocator = ours ? &train::install_cpu_allocator() : nullptr;
  at::set_num_threads(static_cast<int>(std::thread::hardware_concurrency()));
  at::set_num_interop_threads(1);

  // Libraries, code made at run time and thread stacks come with the first steps, whatever the
  // batch: not counted, not compared.
  step_times(argv[1], 1, 2);
  if (ours) allocator->empty_cache();
  malloc_trim(0);
  std::ofstream("/proc/self/clear_refs") << 5;  // the resident set's high-water mark starts anew
  if (ours) allocator->reset_peaks();
  const double live = ours ? static_cast<double>(allocator->allocated()) : 0;
  const double resident = status_bytes("VmRSS");

  std::vector<double> times = step_times(argv[1], std::stol(argv[2]), std::stoi(argv[4]));
  const double counted = ours ? static_cast<double>(allocator->peak_allocated()) - live : 0;
  const double reserved = ours ? static_cast<double>(allocator->peak_reserved()) - live : 0;
  const double grown = status_bytes("VmHWM") - resident;
  std::sort(times.begin(), times.end());
  fmt::print(
      R"({{"counted_bytes":{:.0f},"reserved_bytes":{:.0f},"resident_bytes":{:.0f},"step_median_s":{:.6f}}})",
      counted, reserved, grown, times[times.size() / 2]);
  fmt::print("\n");
  return 0;
}
