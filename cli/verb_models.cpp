// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "cli/answer.hpp"
#include "cli/verbs.hpp"
#include "sweeps/model_table.hpp"

namespace batchsweep::cli {
namespace {

std::string input_of(const sweeps::ModelInfo& model) {
  if (model.domain == sweeps::Domain::kText)
    return fmt::format("up to {} tokens", model.max_positions);
  return fmt::format("{}x{}x{}", model.channels, model.image_size, model.image_size);
}

std::string amount(double number) {
  return number < 1e9 ? fmt::format("{:.4g} M", number / 1e6)
                      : fmt::format("{:.1f} G", number / 1e9);
}

std::string classes_of(const sweeps::ModelInfo& model) {
  return fmt::format("{}",
                     model.domain == sweeps::Domain::kText ? model.vocabulary : model.num_classes);
}

std::vector<std::string_view> heads_of(const sweeps::ModelInfo& model) {
  std::vector<std::string_view> names;
  for (const sweeps::Head& head : model.heads) names.push_back(head.name);
  return names;
}

Table models_table() {
  Table table{{"model", "input", "classes", "parameters", "multiply-adds", "heads", "source"}, {}};
  for (const sweeps::ModelInfo& model : sweeps::model_table()) {
    const auto adds = model.multiply_adds_per_sample;
    table.rows.push_back({std::string(model.name), input_of(model), classes_of(model),
                          fmt::format("{}", model.num_parameters), adds ? amount(*adds) : "",
                          fmt::format("{}", fmt::join(heads_of(model), ", ")),
                          std::string(model.source)});
  }
  return table;
}

Json models_json() {
  Json list = Json::array();
  for (const sweeps::ModelInfo& model : sweeps::model_table()) {
    Json entry;
    entry["model"] = model.name;
    entry["domain"] = model.domain == sweeps::Domain::kText ? "text" : "image";
    if (model.domain == sweeps::Domain::kText) {
      entry["max_positions"] = model.max_positions;
      entry["vocabulary"] = model.vocabulary;
    } else {
      entry["channels"] = model.channels;
      entry["image_size"] = model.image_size;
      entry["num_classes"] = model.num_classes;
    }
    entry["num_parameters"] = model.num_parameters;
    if (model.multiply_adds_per_sample)
      entry["multiply_adds_per_sample"] = *model.multiply_adds_per_sample;
    entry["heads"] = heads_of(model);
    entry["source"] = model.source;
    list.push_back(std::move(entry));
  }
  return Json{{"models", std::move(list)}};
}

}  // namespace

void add_models(CommandLine& line) {
  const auto format = std::make_shared<std::string>();
  line.add("models", "list the built-in models with their parameters")
      .choice("--format", *format, format_words(), "how the answer is written")
      .example("batchsweep models --format json")
      .run([format] {
        print_answer(*format, models_table(), models_json);
        return ExitCode::kDone;
      });
}

}  // namespace batchsweep::cli
