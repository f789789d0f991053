// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs.hpp"

namespace batchsweep::cli {

void add_cancel(CommandLine& line) {
  line.add("cancel", "").run([]() -> ExitCode { throw UsageError("cancel: does not exist yet"); });
}

}  // namespace batchsweep::cli
