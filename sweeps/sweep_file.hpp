// SPDX-License-Identifier: Apache-2.0
// TOML -> SweepSpec. Unknown keys are errors; every semantic problem is reported at once, each with
// file, line, column, key, what was expected and the nearest known name. A key whose effect does
// not exist yet is refused by name (sweeps/not_yet.hpp).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sweeps/sweep_spec.hpp"

namespace batchsweep::sweeps {

struct SweepFileOptions {
  std::vector<std::string> set;     // --set trial.timed_steps=50, in order
  std::optional<std::string> site;  // --site FILE; else $BATCHSWEEP_SITE, else
                                    // ~/.config/batchsweep/site.toml where it exists
};

// Throws ConfigError: every finding, also a file that is not there (what the user named is the
// user's input).
[[nodiscard]] SweepSpec read_sweep_file(const std::string& path,
                                        const SweepFileOptions& options = {});
// The same from text, `path` only for messages and relative file names.
[[nodiscard]] SweepSpec read_sweep_text(const std::string& text, const std::string& path,
                                        const SweepFileOptions& options = {});

// The device types that the file itself declares: of a rehearsal's nodes, else of [[device]]; for a
// simulated rehearsal these are the present types.
[[nodiscard]] std::vector<std::string> declared_types(const SweepSpec& sweep);

}  // namespace batchsweep::sweeps
