// SPDX-License-Identifier: Apache-2.0
#include "worker/agent/child_environment.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>

#include "sweeps/reserved_variables.hpp"

namespace batchsweep::agent {
namespace {

using namespace std::string_view_literals;

constexpr std::array kRecordedPrefixes = {"NCCL_"sv, "CUDA_"sv, "TORCH_"sv, "PYTORCH_"sv, "OMP_"sv,
                                          "MKL_"sv,  "DNNL_"sv, "GLOO_"sv,  "LD_"sv};

bool starts_with_any(std::string_view name, const auto& prefixes) {
  return std::ranges::any_of(prefixes,
                             [&](std::string_view prefix) { return name.starts_with(prefix); });
}

}  // namespace

Environment own_environment() {
  Environment environment;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals != std::string_view::npos)
      environment.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return environment;
}

Environment scrubbed(Environment environment) {
  std::erase_if(environment, [](const auto& variable) {
    return sweeps::is_launcher_variable(variable.first) || sweeps::is_set_by_agent(variable.first);
  });
  return environment;
}

std::string recorded_variables(const Environment& environment) {
  std::string text;
  for (const auto& [name, value] : environment) {
    // Which devices a trial sees is recorded by UUID, and it differs from rank to rank of one
    // software.
    if (name == "CUDA_VISIBLE_DEVICES" || !starts_with_any(name, kRecordedPrefixes)) continue;
    text += name + '=' + value + '\n';
  }
  return text;
}

}  // namespace batchsweep::agent
