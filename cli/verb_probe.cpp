// SPDX-License-Identifier: Apache-2.0
// Hidden: asks the NVIDIA driver about this host's GPUs, in a process of its own because the driver
// can hang on a sick card.
#include <cstdio>

#include "cli/verbs.hpp"
#include "worker/agent/device_inventory.hpp"

namespace batchsweep::cli {

void add_probe(CommandLine& line) {
  line.add("probe", "tell what the NVIDIA driver finds, as one line of JSON").hide().run([] {
    std::puts(agent::probe_gpus_json().c_str());
    return ExitCode::kDone;
  });
}

}  // namespace batchsweep::cli
