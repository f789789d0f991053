// SPDX-License-Identifier: Apache-2.0
// One rank of ours for ddp.py: optimizer steps as a trial runs them, on synthetic data. The ranks
// meet as those of a trial do, with ddp.py in the place of the agents. Then each line of its input
// asks for a step, whose time it prints; at the end of the input it prints what c10d::Logger says
// of communication as JSON.
#include <ATen/ATen.h>
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <iostream>
#include <string>

#include "base/json.hpp"
#include "sweeps/trial_defaults.hpp"
#include "sweeps/trial_spec_json.hpp"
#include "worker/train/data/data_source.hpp"
#include "worker/train/data_parallel.hpp"
#include "worker/train/device.hpp"
#include "worker/train/models/registry.hpp"
#include "worker/train/optimizer_step.hpp"
#include "worker/train/precision_policy.hpp"

namespace {

using namespace batchsweep;

std::string next_line() {
  std::string line;
  std::getline(std::cin, line);
  return line;
}

void say(const std::string& line) {
  fmt::print("{}\n", line);
  std::fflush(stdout);
}

const train::RendezvousBy kByDriver = {
    .tell = [](const protocol::Rendezvous& at) { say(protocol::rendezvous_line(at)); },
    .ask = [] { return protocol::read_rendezvous_line(next_line()); }};

Json serve(const Json& given) {
  protocol::TrialInput input;
  input.spec = sweeps::trial_spec_from_json(given.at("spec"));
  input.spec.model_source = input.spec.model;
  input.spec = sweeps::with_defaults(input.spec);
  input.rank = given.at("rank").get<std::int64_t>();
  input.device.threads = given.at("threads").get<std::int64_t>();
  if (input.spec.world_size > 1) input.network = {.address = "127.0.0.1", .interface = "lo"};

  const auto device = train::open_device(input.device);
  const train::PrecisionPolicy precision(input.spec.precision, *device);
  train::RankGroup ranks;
  ranks.join(input, device->where(), kByDriver);
  at::manual_seed(1);
  const auto model = train::build_model(input.spec, c10::kCPU);
  const auto data = train::open_data({.spec = input.spec, .seed = 1, .rank = input.rank});
  train::DataParallel data_parallel(ranks, model->parameters());
  train::OptimizerStep step(input.spec, precision, *model, &data_parallel);
  double loss = 0;
  for (std::string line; std::getline(std::cin, line);) {
    const auto start = std::chrono::steady_clock::now();
    loss = step.run([&] { return data->next(); }).loss.item<double>();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    data_parallel.note_times();
    say(fmt::format("{}", took.count()));
  }
  ranks.leave();
  const train::CommunicationTimes times = data_parallel.times();
  return {{"loss", loss},
          {"exposed_s", times.exposed_s.value_or(0)},
          {"overlapped_s", times.overlapped_s.value_or(0)}};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: ddp_steps JSON\n");
    return 2;
  }
  try {
    say(serve(Json::parse(argv[1])).dump());
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
