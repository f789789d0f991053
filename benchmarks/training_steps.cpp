// SPDX-License-Identifier: Apache-2.0
// Our side of against_pytorch.py: optimizer steps as a trial runs them, on synthetic data. Each
// line of its input asks for one, whose time it prints; at the end of the input it prints the
// counted peak and the last loss as JSON.
#include <ATen/ATen.h>
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <iostream>
#include <string>

#include "base/json.hpp"
#include "sweeps/trial_defaults.hpp"
#include "sweeps/trial_spec_json.hpp"
#include "worker/protocol/trial_input.hpp"
#include "worker/train/data/data_source.hpp"
#include "worker/train/device.hpp"
#include "worker/train/models/registry.hpp"
#include "worker/train/optimizer_step.hpp"
#include "worker/train/precision_policy.hpp"

namespace {

using namespace batchsweep;

Json serve(const Json& given) {
  sweeps::TrialSpec spec = sweeps::trial_spec_from_json(given.at("spec"));
  spec.model_source = spec.model;
  spec = sweeps::with_defaults(spec);
  protocol::TrialDevice cpu;
  cpu.threads = given.at("threads").get<std::int64_t>();
  const auto device = train::open_device(cpu);
  const train::PrecisionPolicy precision(spec.precision, *device);
  at::manual_seed(1);
  const auto model = train::build_model(spec, c10::kCPU);
  const auto data = train::open_data({.spec = spec, .seed = 1});
  train::OptimizerStep step(spec, precision, *model);
  double loss = 0;
  for (std::string line; std::getline(std::cin, line);) {
    const auto start = std::chrono::steady_clock::now();
    loss = step.run([&] { return data->next(); }).loss.item<double>();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    fmt::print("{}\n", took.count());
    std::fflush(stdout);
  }
  const auto peak = device->take_peaks().allocated_bytes;
  return {{"loss", loss}, {"peak_bytes", peak ? Json(*peak) : Json()}};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: training_steps JSON\n");
    return 2;
  }
  try {
    fmt::print("{}\n", serve(Json::parse(argv[1])).dump());
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
