// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs.hpp"

namespace batchsweep::cli {

void add_gpus(CommandLine& line) {
  line.add("gpus", "").run([]() -> ExitCode { throw UsageError("gpus: does not exist yet"); });
}

}  // namespace batchsweep::cli
