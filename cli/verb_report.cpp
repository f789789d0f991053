// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs.hpp"

namespace batchsweep::cli {

void add_report(CommandLine& line) {
  line.add("report", "").run([]() -> ExitCode { throw UsageError("report: does not exist yet"); });
}

}  // namespace batchsweep::cli
