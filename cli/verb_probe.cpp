// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs.hpp"

namespace batchsweep::cli {

void add_probe(CommandLine& line) {
  line.add("probe", "").run([]() -> ExitCode { throw UsageError("probe: does not exist yet"); });
}

}  // namespace batchsweep::cli
