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

// What stands in neither text: --set, where file names start, the content of the files named. With it a recorded sweep is read again
// anywhere, later, without those files. One line of JSON.
[[nodiscard]] std::string inputs_text(const SweepSpec& sweep);
// Throws ConfigError where this version reads the texts no more. `inputs` "" (older records): file names start in the current folder.
[[nodiscard]] SweepSpec read_recorded_sweep(const std::string& text, const std::string& site_text,
                                            const std::string& inputs);

// Narrows the grid to the part of one [[slurm]] job. Throws UsageError where there is no such job.
void choose_job(SweepSpec& sweep, const std::string& name);

// The device types that the file itself declares: of a rehearsal's nodes, else of [[device]]; for a
// simulated rehearsal these are the present types.
[[nodiscard]] std::vector<std::string> declared_types(const SweepSpec& sweep);

}  // namespace batchsweep::sweeps
