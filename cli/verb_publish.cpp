// SPDX-License-Identifier: Apache-2.0
// Hidden: the child of a running sweep that makes its .h5 anew.
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "cli/verbs.hpp"
#include "results/store/results_store.hpp"

namespace batchsweep::cli {

void add_publish(CommandLine& line) {
  struct Options {
    std::string path;
    std::optional<std::int64_t> parent;
  };
  const auto options = std::make_shared<Options>();
  line.add("publish", "write FILE.h5 anew from FILE.h5 and its journal")
      .positional("file", options->path, "results file")
      .option("--parent", options->parent, "process that started this one: ends with it")
      .example("batchsweep publish cards.h5")
      .hide()
      .run([options] {
        if (options->parent) {
          // A child that outlived its sweep would replace the file under the next one.
          ::prctl(PR_SET_PDEATHSIG, SIGKILL);
          if (::getppid() != *options->parent) return ExitCode::kEnvironment;
        }
        results::publish(options->path);
        return ExitCode::kDone;
      });
}

}  // namespace batchsweep::cli
