// SPDX-License-Identifier: Apache-2.0
#include "sweeps/validate_models.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.hpp"
#include "sweeps/gpu_catalogue.hpp"
#include "sweeps/model_table.hpp"
#include "sweeps/trial_defaults.hpp"

namespace batchsweep::sweeps {
namespace {

std::vector<std::string> known_models(const SweepSpec& sweep) {
  std::vector<std::string> names;
  for (const auto& [name, model] : sweep.models) names.push_back(name);
  for (const ModelInfo& model : model_table()) {
    if (!sweep.models.contains(std::string(model.name))) names.emplace_back(model.name);
  }
  return names;
}

const PlacedAxis* find_placed(const std::vector<PlacedAxis>& axes, std::string_view name) {
  const auto it = std::find_if(axes.begin(), axes.end(),
                               [&](const PlacedAxis& a) { return a.axis->name == name; });
  return it == axes.end() ? nullptr : &*it;
}

const ModelInfo* info_of(const SweepSpec& sweep, const std::string& name) {
  const auto it = sweep.models.find(name);
  return find_model(
      it == sweep.models.end() || it->second.model_source.empty() ? name : it->second.model_source);
}

// The values that one model of a block meets on an axis, and where they were written.
struct Met {
  const PlacedAxis* where = nullptr;  // nullptr: the default
  std::vector<AxisValue> values;
};
Met values_met(const SweepSpec& sweep, const PlacedSweep& placed, const PlacedBlock& block,
               const std::string& model, std::string_view name) {
  if (const PlacedAxis* axis = find_placed(block.axes, name)) return {axis, axis->values};
  const std::string own_key = fmt::format("model.{}.{}", model, name);
  for (const PlacedAxis& option : placed.model_options) {
    if (option.key == own_key) return {&option, option.values};
  }
  const auto own = sweep.models.find(model);
  if (name == "data" && own != sweep.models.end() && !own->second.data.empty()) {
    return {find_placed(block.axes, "model"), {own->second.data}};
  }
  if (const PlacedAxis* axis = find_placed(placed.trial, name)) return {axis, axis->values};
  return {};
}

// What no [trial] data but "synthetic" and tensors can answer. "" where all is well.
std::string data_problem(const ModelInfo& info, Task task, const std::string& name,
                         const AxisValue& data) {
  const bool images = data == "fashion-mnist" || data.starts_with("images:");
  const bool texts = data.starts_with("text:") || data.starts_with("tokens:");
  if ((info.domain == Domain::kImage && texts) || (info.domain == Domain::kText && images)) {
    return fmt::format(
        "{} takes {}, and {} holds none: give it other data in [model.{}] or in another [[grid]]",
        name, info.domain == Domain::kImage ? "images" : "text", data, name);
  }
  const char* missing = nullptr;
  switch (task) {
    case Task::kClassify:
      if (texts) missing = "classes";
      break;
    case Task::kSegment:
      if (images) missing = "the class of each pixel";
      break;
    case Task::kAnswerSpan:
      if (texts) missing = "answers";
      break;
    case Task::kTranslate:
      if (texts) missing = "translations";
      break;
    case Task::kMaskedTokens:
    case Task::kNextToken:
      break;
  }
  if (missing == nullptr) return "";
  return fmt::format(
      "{} shall tell {}, and {} holds none: use \"synthetic\" or \"tensors:FILE.safetensors\" (x "
      "and y){}",
      name, missing, data, info.heads.size() > 1 ? ", or the head mlm" : "");
}

void check_data(const SweepSpec& sweep, const ModelInfo& info, const std::string& name,
                const Met& met, Findings& findings) {
  TrialSpec spec;
  spec.model = name;
  if (const auto own = sweep.models.find(name); own != sweep.models.end()) {
    spec.model_source = own->second.model_source;
    spec.model_head = own->second.model_head;
  }
  for (const AxisValue& data : met.values) {
    const std::string problem = data_problem(info, task_of(spec), name, data);
    if (!problem.empty()) findings.add(met.where->place, met.where->key, problem);
  }
}

void check_sequence_length(const ModelInfo& info, const std::string& name, const Met& met,
                           Findings& findings) {
  if (info.domain != Domain::kText) return;
  for (const AxisValue& value : met.values) {
    const std::int64_t length = whole_number(value).value_or(0);
    if (length <= info.max_positions) continue;
    findings.add(met.where->place, met.where->key,
                 fmt::format("{} has {} positions, found {}", name, info.max_positions, length));
  }
}

void check_image_size(const ModelInfo& info, const std::string& name, const Met& met,
                      Findings& findings) {
  if (info.domain != Domain::kImage) return;
  for (const AxisValue& value : met.values) {
    const std::size_t cross = value.find('x');
    const std::int64_t height = whole_number(value.substr(0, cross)).value_or(0);
    const std::int64_t width =
        cross == std::string::npos ? height : whole_number(value.substr(cross + 1)).value_or(0);
    if (std::min(height, width) >= info.min_image_size) continue;
    findings.add(met.where->place, met.where->key,
                 fmt::format("{} needs images of at least {} pixels a side, found {}", name,
                             info.min_image_size, value));
  }
}

// A script takes what its `input` says: another size would only be ignored.
void check_script(const SweepSpec& sweep, const PlacedSweep& placed, const PlacedBlock& block,
                  const std::string& name, Findings& findings) {
  const TrialSpec own = with_defaults(sweep.models.at(name));
  const auto check = [&](std::string_view axis, auto member, auto other_member) {
    if (!(own.*member)) return;
    const Met met = values_met(sweep, placed, block, name, axis);
    for (const AxisValue& value : met.values) {
      TrialSpec asked;
      find_axis(axis)->set(asked, value);
      if (asked.*member == own.*member && asked.*other_member == own.*other_member) continue;
      findings.add(met.where->place, met.where->key,
                   fmt::format("the script of {} takes what its input.shape says, [{}], found {}: "
                               "leave it out, or put {} into another [[grid]]",
                               name, fmt::join(own.input_shape, ", "), value, name));
    }
  };
  check("image_size", &TrialSpec::image_height, &TrialSpec::image_width);
  check("sequence_length", &TrialSpec::sequence_length, &TrialSpec::sequence_length);
  const Met checkpointing = values_met(sweep, placed, block, name, "activation_checkpointing");
  if (std::ranges::find(checkpointing.values, "true") != checkpointing.values.end()) {
    findings.add(
        checkpointing.where->place, checkpointing.where->key,
        fmt::format("the script of {} does not tell where its blocks begin and end", name));
  }
}

// An option that no model of the sweep has would be ignored without a word.
struct Used {
  std::set<const ModelInfo*> models;
  bool sgd = false;
};
void check_useless(const Used& used, const PlacedAxis& option, Findings& findings) {
  const auto any = [&](auto&& predicate) {
    return std::any_of(used.models.begin(), used.models.end(), predicate);
  };
  const std::string_view name = option.axis->name;
  const char* who = nullptr;
  if ((name == "image_size" || name == "num_classes") &&
      !any([](auto* m) { return m->domain == Domain::kImage; })) {
    who = "takes images";
  } else if (name == "sequence_length" &&
             !any([](auto* m) { return m->domain == Domain::kText; })) {
    who = "takes text";
  } else if (name == "dropout" && !any([](auto* m) { return m->dropout.has_value(); })) {
    who = "has dropout";
  } else if (name == "attention" && option.values != std::vector<AxisValue>{"auto"} &&
             !any([](auto* m) { return m->has_attention; })) {
    who = "has attention";
  } else if (name == "memory_format" && option.values != std::vector<AxisValue>{"contiguous"} &&
             !any([](auto* m) { return m->domain == Domain::kImage; })) {
    who = "takes images";
  }
  if (who != nullptr)
    findings.add(option.place, option.key,
                 fmt::format("means nothing here: no model of this sweep {}", who));
  if (name == "momentum" && !used.sgd)
    findings.add(option.place, option.key,
                 "means nothing here: only sgd has momentum, and no trial of this sweep uses it");
}

void check_excluded_models(const PlacedSweep& placed, Findings& findings) {
  std::vector<std::string> names;
  for (const PlacedBlock& block : placed.blocks) {
    if (const PlacedAxis* models = find_placed(block.axes, "model")) {
      names.insert(names.end(), models->values.begin(), models->values.end());
    }
  }
  for (const PlacedMatches& exclude : placed.excludes) {
    for (const AxisMatch& line : exclude.lines) {
      if (line.axis != "model") continue;
      for (const std::string& pattern : line.patterns) {
        const auto hit = [&](const std::string& name) { return matches_pattern(name, pattern); };
        if (std::any_of(names.begin(), names.end(), hit)) continue;
        findings.add(exclude.place, exclude.key + ".model",
                     fmt::format("\"{}\" matches no model of the grid{}", pattern,
                                 did_you_mean(pattern, names)));
      }
    }
  }
}

// Another [[runtime]] knows its own models.
bool only_other_programs(const SweepSpec& sweep, const PlacedSweep& placed,
                         const PlacedBlock& block) {
  const Met runtimes = values_met(sweep, placed, block, /*model=*/"", "runtime");
  return runtimes.where != nullptr &&
         std::ranges::find(runtimes.values, "") == runtimes.values.end();
}

}  // namespace

std::string device_name_problem(const SweepSpec& sweep, const std::string& name) {
  std::vector<std::string> declared;
  bool cpu_replaced = sweep.rehearsal.has_value();
  for (const DeclaredDevice& device : sweep.devices) {
    declared.push_back(device.name);
    cpu_replaced = cpu_replaced || (device.kind == DeviceKind::kCpu && device.hosts.empty());
  }
  const bool known = std::find(declared.begin(), declared.end(), name) != declared.end() ||
                     find_gpu(name) != nullptr;
  // A card outside the catalogue goes by the name that its driver reports.
  if (known || (!sweep.rehearsal && name.starts_with("NVIDIA ")) ||
      (name == "cpu" && !cpu_replaced))
    return "";
  if (name == "cpu") {
    return sweep.rehearsal ? "\"cpu\" is not declared: every device of a rehearsal stands in "
                             "[[device]] or in the catalogue"
                           : fmt::format("\"cpu\" is replaced by the declared cpu devices: {}",
                                         fmt::join(declared, ", "));
  }
  std::vector<std::string> candidates = nearest_names(name, declared);
  const std::vector<std::string> cards = gpu_candidates(name);
  candidates.insert(candidates.end(), cards.begin(), cards.end());
  if (candidates.size() > 1)
    return fmt::format("\"{}\" is not exact: did you mean {}", name, fmt::join(candidates, ", "));
  if (candidates.size() == 1)
    return fmt::format("unknown device \"{}\", did you mean {}", name, candidates.front());
  return fmt::format(
      "unknown device \"{}\": neither a [[device]] nor in the catalogue (batchsweep gpus)", name);
}

void check_model_names(const SweepSpec& sweep, const PlacedSweep& placed, Findings& findings) {
  check_excluded_models(placed, findings);
  if (sweep.rehearsal) return;
  const std::vector<std::string> known = known_models(sweep);
  for (const PlacedBlock& block : placed.blocks) {
    const PlacedAxis* models = find_placed(block.axes, "model");
    if (models == nullptr || only_other_programs(sweep, placed, block)) continue;
    for (const AxisValue& name : models->values) {
      if (std::find(known.begin(), known.end(), name) != known.end()) continue;
      findings.add(models->place, models->key,
                   fmt::format("unknown model \"{}\"{}; batchsweep models lists those built in",
                               name, did_you_mean(name, known)));
    }
  }
}

void check_model_options(const SweepSpec& sweep, const PlacedSweep& placed, Findings& findings) {
  if (sweep.rehearsal) return;
  Used used;
  bool all_known = true;
  for (const PlacedBlock& block : placed.blocks) {
    const PlacedAxis* models = find_placed(block.axes, "model");
    if (models == nullptr) continue;
    for (const AxisValue& name : models->values) {
      const ModelInfo* info = info_of(sweep, name);
      if (info == nullptr) {  // a script, or a name that is known to another program or to nobody
        all_known = false;
        if (sweep.models.contains(name)) check_script(sweep, placed, block, name, findings);
        continue;
      }
      used.models.insert(info);
      const Met optimizers = values_met(sweep, placed, block, name, "optimizer");
      used.sgd = used.sgd ||
                 (optimizers.where == nullptr
                      ? info->domain != Domain::kText
                      : std::ranges::find(optimizers.values, "sgd") != optimizers.values.end());
      check_data(sweep, *info, name, values_met(sweep, placed, block, name, "data"), findings);
      check_sequence_length(*info, name, values_met(sweep, placed, block, name, "sequence_length"),
                            findings);
      check_image_size(*info, name, values_met(sweep, placed, block, name, "image_size"), findings);
    }
  }
  if (!all_known) return;  // what they could use is not known
  for (const PlacedAxis& option : placed.trial) check_useless(used, option, findings);
  for (const PlacedBlock& block : placed.blocks) {
    for (const PlacedAxis& option : block.axes) check_useless(used, option, findings);
  }
}

}  // namespace batchsweep::sweeps
