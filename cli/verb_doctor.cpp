// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs.hpp"

namespace batchsweep::cli {

void add_doctor(CommandLine& line) {
  line.add("doctor", "").run([]() -> ExitCode { throw UsageError("doctor: does not exist yet"); });
}

}  // namespace batchsweep::cli
