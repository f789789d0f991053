// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs.hpp"

namespace batchsweep::cli {

void add_init(CommandLine& line) {
  line.add("init", "").run([]() -> ExitCode { throw UsageError("init: does not exist yet"); });
}

}  // namespace batchsweep::cli
