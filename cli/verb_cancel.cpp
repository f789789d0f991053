// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <filesystem>

#include "cli/cancel_file.hpp"
#include "cli/verbs.hpp"

namespace batchsweep::cli {

void add_cancel(CommandLine& line) {
  const auto path = std::make_shared<std::string>();
  line.add("cancel", "end a running sweep well: running trials finish, nothing new starts")
      .positional("RESULTS", *path, "the results file of the sweep (F.h5)")
      .example("batchsweep cancel cards.h5")
      .run([path] {
        if (!std::filesystem::exists(*path + ".lock")) {
          throw UsageError(*path + ": no sweep is running on this file (there is no " + *path + ".lock)");
        }
        write_cancel_request(*path);
        std::printf("%s: asked to end; running trials finish and are recorded. Go on later with batchsweep run.\n", path->c_str());
        return ExitCode::kDone;
      });
}

}  // namespace batchsweep::cli
