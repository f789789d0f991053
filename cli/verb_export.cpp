// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs.hpp"

namespace batchsweep::cli {

void add_export(CommandLine& line) {
  line.add("export", "").run([]() -> ExitCode { throw UsageError("export: does not exist yet"); });
}

}  // namespace batchsweep::cli
