// SPDX-License-Identifier: Apache-2.0
// Where batchsweep-trial is (beside this program, else in ../libexec/batchsweep), and what it says of itself.
#pragma once

#include <optional>
#include <string>

#include "results/record/trial_record.hpp"

namespace batchsweep::cli {

// Versions that `batchsweep-trial --about` reports (a SoftwareRecord as JSON); nullopt where the program is not there or does not answer.
[[nodiscard]] std::optional<results::SoftwareRecord> ask_trial_program(const std::string& batchsweep_program);

}  // namespace batchsweep::cli
