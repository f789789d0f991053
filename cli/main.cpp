// SPDX-License-Identifier: Apache-2.0
// Parse, dispatch, one catch -> exit code.
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>

#include "base/log.hpp"
#include "cli/verbs.hpp"

namespace batchsweep::cli {

std::string own_program() { return std::filesystem::read_symlink("/proc/self/exe").string(); }

namespace {

ExitCode run(int argc, char** argv) {
  start_log("batchsweep");
  std::signal(SIGPIPE, SIG_DFL);  // "report | head" ends quietly, also where the caller ignores the signal
  CommandLine line("Sweeps of training trials over GPUs: what fits, how fast, at what cost.",
                   "batchsweep run sweeps/examples/quickstart.toml && batchsweep report quickstart.h5",
                   std::string("batchsweep ") + BATCHSWEEP_VERSION);
  add_init(line);
  add_plan(line);
  add_run(line);
  add_submit(line);
  add_cancel(line);
  add_watch(line);
  add_report(line);
  add_export(line);
  add_explain(line);
  add_doctor(line);
  add_models(line);
  add_gpus(line);
  add_publish(line);
  add_probe(line);
  line.add_later({"compare", "recommend", "merge", "import"});
  const ExitCode code = line.parse(argc, argv);
  if (std::fflush(stdout) != 0) throw_errno("cannot write the answer to standard output", errno);
  return code;
}

}  // namespace
}  // namespace batchsweep::cli

int main(int argc, char** argv) {
  try {
    return static_cast<int>(batchsweep::cli::run(argc, argv));
  } catch (const batchsweep::Error& error) {
    std::fprintf(stderr, "batchsweep: %s\n", error.what());
    return static_cast<int>(error.exit_code());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "batchsweep: %s\n", error.what());
    return static_cast<int>(batchsweep::ExitCode::kEnvironment);
  }
}
