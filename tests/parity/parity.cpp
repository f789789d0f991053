// SPDX-License-Identifier: Apache-2.0
// Ours beside PyTorch: reads what parity_test.py and steps_test.py wrote into a folder (case.json,
// weights, batches), computes the same with our models and training, and leaves ours.json and
// ours.safetensors there. It judges nothing.
#include <ATen/ATen.h>
#include <fmt/format.h>

#include <fstream>
#include <iostream>

#include "base/json.hpp"
#include "sweeps/model_table.hpp"
#include "sweeps/trial_defaults.hpp"
#include "sweeps/trial_spec_json.hpp"
#include "tests/parity/write_safetensors.hpp"
#include "worker/protocol/trial_input.hpp"
#include "worker/train/data_parallel.hpp"
#include "worker/train/device.hpp"
#include "worker/train/models/registry.hpp"
#include "worker/train/optimizer_step.hpp"
#include "worker/train/precision_policy.hpp"
#include "worker/train/rank_group.hpp"
#include "worker/train/safetensors.hpp"
#include "worker/train/weights.hpp"

namespace {

using namespace batchsweep;
using namespace batchsweep::train;
using Tensors = std::map<std::string, at::Tensor>;

struct Case {
  std::string folder;
  Json json;
  sweeps::TrialSpec spec;  // defaults filled in
  [[nodiscard]] std::string path(const std::string& member) const {
    return folder + "/" + json.at(member).get<std::string>();
  }
};

struct Results {
  Json json = Json::object();
  Tensors tensors;
};

Json shapes(const std::vector<NamedTensor>& tensors) {
  Json shapes = Json::object();
  for (const NamedTensor& named : tensors) shapes[named.name] = named.tensor.sizes().vec();
  return shapes;
}

// What the table and the model say with every option at its default.
Json described(const sweeps::TrialSpec& asked) {
  sweeps::TrialSpec spec;
  spec.model = spec.model_source = asked.model;
  spec.model_head = asked.model_head;
  const auto model = build_model(sweeps::with_defaults(spec), c10::kMeta);
  const sweeps::ModelInfo& info = *sweeps::find_model(asked.model);
  Json json{{"parameters", shapes(model->parameters().trained())},
            {"buffers", shapes(model->parameters().buffers())},
            {"num_parameters", model->parameters().count()},
            {"table_num_parameters", info.num_parameters},
            {"image_size", info.image_size}};
  if (info.multiply_adds_per_sample) json["multiply_adds"] = *info.multiply_adds_per_sample;
  return json;
}

Batch batch_of(const Tensors& tensors, const Parameters& parameters) {
  Batch batch{.input = tensors.at("input"), .target = tensors.at("target")};
  batch.samples = batch.input.size(0);
  if (batch.input.dim() == 4 && parameters.options().channels_last)
    batch.input = batch.input.contiguous(at::MemoryFormat::ChannelsLast);
  if (batch.input.is_floating_point()) batch.input = batch.input.to(parameters.options().type);
  return batch;
}

std::unique_ptr<Model> loaded_model(const Case& given, const sweeps::TrialSpec& spec) {
  auto model = build_model(spec, c10::kCPU);
  // A TorchScript file brings its own.
  if (given.json.contains("weights"))
    load_weights(model->parameters(), given.path("weights"), Missing::kRefused);
  return model;
}

std::vector<at::Tensor> copies(const std::vector<NamedTensor>& tensors) {
  std::vector<at::Tensor> made;
  for (const NamedTensor& named : tensors) made.push_back(named.tensor.clone());
  return made;
}

double length_of(const at::Tensor& gradient) {
  return at::linalg_vector_norm(gradient, 2, {}, false, at::kDouble).item<double>();
}

// Evaluation, then one training pass: what is left in the running statistics is that of the latter.
void compare_passes(const Case& given, Results& results) {
  const auto model = loaded_model(given, given.spec);
  const Batch batch = batch_of(read_safetensors(given.path("batch")), model->parameters());
  {
    const at::NoGradGuard no_grad;
    model->set_training(false);
    results.tensors["eval_output"] = model->forward(batch);
    model->set_training(true);
    const std::vector<at::Tensor> before = copies(model->parameters().buffers());
    results.tensors["train_output"] = model->forward(batch);
    for (std::size_t i = 0; i < before.size(); ++i)
      at::Tensor(model->parameters().buffers()[i].tensor).copy_(before[i]);
  }
  const at::Tensor loss = model->loss(batch);
  loss.backward();
  results.json["loss"] = loss.item<double>();
  for (const NamedTensor& parameter : model->parameters().trained()) {
    const at::Tensor& gradient = parameter.tensor.grad();
    results.json["gradient_norms"][parameter.name] =
        gradient.defined() ? Json(length_of(gradient)) : Json();
  }
  for (const NamedTensor& buffer : model->parameters().buffers())
    results.tensors["after." + buffer.name] = buffer.tensor;
}

// The loss with the model's own dropout, the random numbers drawn from the same seed.
double loss_with_dropout(const Case& given) {
  sweeps::TrialSpec spec = given.spec;
  spec.dropout.reset();
  const auto model = loaded_model(given, sweeps::with_defaults(spec));
  const Batch batch = batch_of(read_safetensors(given.path("batch")), model->parameters());
  at::manual_seed(given.json.at("dropout_seed").get<std::uint64_t>());
  const at::NoGradGuard no_grad;
  return model->loss(batch).item<double>();
}

// The other ranks are processes of this program; whoever started them carries rank 0's line to
// them.
void join_other_ranks(const Case& given, RankGroup& ranks) {
  protocol::TrialInput input;
  input.spec = given.spec;
  input.rank = given.json.value("rank", 0);
  if (given.spec.world_size == 1) return;
  input.network = {.address = "127.0.0.1", .interface = "lo"};
  ranks.join(input, c10::kCPU,
             {.tell =
                  [](const protocol::Rendezvous& at) {
                    std::cout << protocol::rendezvous_line(at) << std::endl;
                  },
              .ask =
                  [] {
                    std::string line;
                    std::getline(std::cin, line);
                    return protocol::read_rendezvous_line(line);
                  }});
}

// Optimizer steps over the given batches: input.N and target.N.
void compare_steps(const Case& given, const PrecisionPolicy& precision, Results& results) {
  const auto model = loaded_model(given, given.spec);
  RankGroup ranks;
  join_other_ranks(given, ranks);
  DataParallel data_parallel(ranks, model->parameters());
  OptimizerStep step(given.spec, precision, *model, &data_parallel);
  const Tensors batches = read_safetensors(given.path("batches"));
  std::size_t next = 0;
  const auto next_batch = [&] {
    const std::string number = std::to_string(next++);
    return batch_of(
        {{"input", batches.at("input." + number)}, {"target", batches.at("target." + number)}},
        model->parameters());
  };
  const auto set = [&](const at::Tensor& value, const char* member) {
    at::Tensor(value).fill_(given.json.at(member).get<double>());
  };
  if (step.scaler() != nullptr) set(step.scaler()->scale(), "first_scale");
  Json& json = results.json;
  for (const char* list : {"losses", "learning_rates", "scales", "skipped"})
    json[list] = Json::array();
  for (std::int64_t i = 0; i < given.spec.timed_steps; ++i) {
    if (step.scaler() != nullptr && given.json.at("counted_at") == i)
      set(step.scaler()->growth_tracker(), "counted");
    const StepResult result = step.run(next_batch);
    json["losses"].push_back(result.loss.item<double>());
    json["learning_rates"].push_back(step.optimizer().learning_rate());
    if (step.scaler() == nullptr) continue;
    json["scales"].push_back(step.scaler()->scale().item<double>());
    json["skipped"].push_back(result.found_inf.item<double>() != 0);
  }
  ranks.leave();
}

// 99 of 100 numbers are closer to 0.
double far(const at::Tensor& values) {
  const at::Tensor sizes = values.abs().flatten();
  return std::get<0>(sizes.kthvalue(1 + (sizes.numel() - 1) * 99 / 100)).item<double>();
}

// What every weight starts from.
Json initial(const sweeps::TrialSpec& asked) {
  sweeps::TrialSpec spec;
  spec.model = spec.model_source = asked.model;
  spec.model_head = asked.model_head;
  at::manual_seed(1);
  const auto model = build_model(sweeps::with_defaults(spec), c10::kCPU);
  Json json = Json::object();
  for (const NamedTensor& parameter : model->parameters().trained()) {
    const at::Tensor values = parameter.tensor.detach().to(at::kDouble);
    json[parameter.name] = {{"mean", values.mean().item<double>()},
                            {"deviation", values.std(/*unbiased=*/false).item<double>()},
                            {"far", far(values)}};
  }
  return json;
}

Case read_case(const std::string& folder) {
  Case given{.folder = folder, .json = {}, .spec = {}};
  std::ifstream(folder + "/case.json") >> given.json;
  sweeps::TrialSpec spec = sweeps::trial_spec_from_json(given.json.at("spec"));
  if (spec.model_source.empty()) spec.model_source = spec.model;
  given.spec = sweeps::with_defaults(spec);
  return given;
}

void run(const std::string& folder) {
  const Case given = read_case(folder);
  protocol::TrialDevice cpu;
  cpu.threads = given.json.at("threads").get<std::int64_t>();
  const auto device = open_device(cpu);
  const PrecisionPolicy precision(given.spec.precision, *device);
  Results results;
  if (given.json.contains("initial")) {
    results.json["initial"] = initial(given.spec);
  } else if (given.json.contains("batches")) {
    compare_steps(given, precision, results);
  } else {
    if (given.json.contains("batch")) compare_passes(given, results);
    if (given.json.contains("dropout_seed"))
      results.json["dropout_loss"] = loss_with_dropout(given);
    results.json["described"] = described(given.spec);
  }
  const PeakMemory peak = device->take_peaks();
  results.json["peak_bytes"] = peak.allocated_bytes.value_or(0);
  write_safetensors(folder + "/ours.safetensors", results.tensors);
  std::ofstream(folder + "/ours.json") << results.json.dump() << "\n";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: parity FOLDER\n");
    return 2;
  }
  try {
    run(argv[1]);
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
