// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs.hpp"

namespace batchsweep::cli {

void add_explain(CommandLine& line) {
  line.add("explain", "").run([]() -> ExitCode { throw UsageError("explain: does not exist yet"); });
}

}  // namespace batchsweep::cli
