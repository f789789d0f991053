// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs.hpp"

namespace batchsweep::cli {

void add_plan(CommandLine& line) {
  line.add("plan", "").run([]() -> ExitCode { throw UsageError("plan: does not exist yet"); });
}

}  // namespace batchsweep::cli
