// SPDX-License-Identifier: Apache-2.0
#include "orchestrator/trial_class.hpp"

#include <fmt/format.h>

#include <iterator>

#include "sweeps/axis_table.hpp"

namespace batchsweep::orchestrator {

Needs needs_of(const sweeps::TrialSpec& spec, bool exclusive_host) {
  return {.gpu = spec.gpu,
          .world_size = spec.world_size,
          .num_nodes = sweeps::whole_number(spec.num_nodes),
          .exclusive_host = exclusive_host,
          .pinned_host = spec.placement == "each-node" ? spec.pinned_to : "",
          .pinned_device = spec.placement == "each-device" ? spec.pinned_to : ""};
}

std::string family_of(const sweeps::TrialSpec& spec) {
  std::string text;
  const auto add = [&](const std::string& value) { text.append(value).append(1, '\n'); };
  for (const std::string* value : {&spec.gpu, &spec.model, &spec.precision, &spec.memory_format,
                                   &spec.attention, &spec.data, &spec.runtime})
    add(*value);
  const auto number = [&](const std::optional<std::int64_t>& value) {
    fmt::format_to(std::back_inserter(text), "{} ", value.value_or(-1));
  };
  number(spec.image_height);
  number(spec.image_width);
  number(spec.sequence_length);
  number(spec.activation_checkpointing ? 1 : 0);
  add(spec.optimizer.value_or(""));
  for (const auto& [name, value] : spec.env) add(name + "=" + value);
  return text;
}

double work_of(const sweeps::TrialSpec& spec) {
  return static_cast<double>(spec.batch_size) *
         static_cast<double>(spec.gradient_accumulation_steps) *
         static_cast<double>(spec.warmup_steps + spec.timed_steps);
}

}  // namespace batchsweep::orchestrator
