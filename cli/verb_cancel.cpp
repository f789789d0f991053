// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "cli/verbs.hpp"
#include "results/store/cancel_file.hpp"
#include "results/store/lock_file.hpp"

namespace batchsweep::cli {

void add_cancel(CommandLine& line) {
  const auto path = std::make_shared<std::string>();
  line.add("cancel", "end a running sweep well: running trials finish, nothing new starts")
      .positional("RESULTS", *path, "the results file of the sweep (F.h5)")
      .example("batchsweep cancel cards.h5")
      .run([path] {
        const results::LockView lock = results::watch_lock(*path);
        if (lock.state == results::LockState::kFree) {
          throw UsageError(*path + ": no sweep is running on this file (there is no " + *path + ".lock)");
        }
        if (lock.state == results::LockState::kDead) {
          throw UsageError(*path + ": no sweep is running on this file: the one that held it (" + results::name_of(lock.holder) +
                           ") is gone; batchsweep run goes on with it");
        }
        results::write_cancel_request(*path);
        std::printf("%s: asked to end; running trials finish and are recorded. Go on later with batchsweep run.\n", path->c_str());
        return ExitCode::kDone;
      });
}

}  // namespace batchsweep::cli
