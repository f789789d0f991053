// SPDX-License-Identifier: Apache-2.0
// The commands of batchsweep: one file verb_NAME.cpp each, which adds its command to the parser. A verb's callback writes its answer to
// standard output and returns its exit code; what goes wrong is thrown (base/error.hpp) and told by cli/main.
#pragma once

#include <string>

#include "cli/command_line.hpp"

namespace batchsweep::cli {

// Absolute path of this executable: for its own children, and to find batchsweep-trial beside it.
[[nodiscard]] std::string own_program();

void add_init(CommandLine& line);
void add_plan(CommandLine& line);
void add_run(CommandLine& line);
void add_submit(CommandLine& line);
void add_cancel(CommandLine& line);
void add_watch(CommandLine& line);
void add_report(CommandLine& line);
void add_export(CommandLine& line);
void add_explain(CommandLine& line);
void add_doctor(CommandLine& line);
void add_models(CommandLine& line);
void add_gpus(CommandLine& line);
// Hidden: children of our own.
void add_publish(CommandLine& line);
void add_probe(CommandLine& line);

}  // namespace batchsweep::cli
