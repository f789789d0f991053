// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs.hpp"

namespace batchsweep::cli {

void add_models(CommandLine& line) {
  line.add("models", "").run([]() -> ExitCode { throw UsageError("models: does not exist yet"); });
}

}  // namespace batchsweep::cli
