// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs.hpp"

namespace batchsweep::cli {

void add_run(CommandLine& line) {
  line.add("run", "").run([]() -> ExitCode { throw UsageError("run: does not exist yet"); });
}

}  // namespace batchsweep::cli
