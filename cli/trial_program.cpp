// SPDX-License-Identifier: Apache-2.0
#include "cli/trial_program.hpp"

#include "cli/doctor/captured.hpp"
#include "results/record/fields.hpp"
#include "worker/agent/agent.hpp"

namespace batchsweep::cli {

std::optional<results::SoftwareRecord> ask_trial_program(const std::string& batchsweep_program) {
  const std::string program = agent::find_program(batchsweep_program, "batchsweep-trial");
  if (program.empty()) return std::nullopt;
  const Captured answer = capture({program, "--about"}, std::chrono::seconds(20));
  const std::size_t start = answer.output.find('{');
  if (!answer.succeeded() || start == std::string::npos) return std::nullopt;
  const Json json = Json::parse(answer.output.substr(start), nullptr, false);
  if (!json.is_object()) return std::nullopt;
  return results::record_from_json<results::SoftwareRecord>(json);
}

}  // namespace batchsweep::cli
