// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs.hpp"

namespace batchsweep::cli {

void add_publish(CommandLine& line) {
  line.add("publish", "").run([]() -> ExitCode { throw UsageError("publish: does not exist yet"); });
}

}  // namespace batchsweep::cli
