// SPDX-License-Identifier: Apache-2.0
// `batchsweep doctor`: asks this machine line by line, prints ok, warning or error with the cure.
// The judging is in cli/doctor/.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "base/clock.hpp"
#include "cli/doctor/captured.hpp"
#include "cli/doctor/machine_checks.hpp"
#include "cli/doctor/software_checks.hpp"
#include "cli/verbs.hpp"
#include "orchestrator/transport/library_version.hpp"
#include "orchestrator/transport/transports.hpp"
#include "results/store/library_version.hpp"
#include "worker/agent/agent.hpp"

namespace batchsweep::cli {
namespace {

constexpr double kAskLimit_s = 10;    // a sick driver or a site's wrapper may hang
constexpr double kStartLimit_s = 60;  // mpirun on a cold, busy machine
constexpr double kPeerLimit_s = 20;

std::optional<std::string> variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

Captured ask(const std::vector<std::string>& command) {
  return capture(command, seconds(kAskLimit_s));
}

void check_mpi(std::vector<Finding>& findings) {
  const std::string library = orchestrator::mpi_library_version();
  findings.push_back({"mpi library", Level::kOk, "linked with " + library, ""});
  const Captured version = ask({"mpirun", "--version"});
  findings.push_back(judge_launcher(library, version));
  if (!version.started) return;
  if (orchestrator::launched_under_mpi()) {
    findings.push_back({"mpi start", Level::kWarning,
                        "not tried: doctor itself runs under a launcher",
                        "call batchsweep doctor without mpirun or srun"});
    return;
  }
  std::vector<std::string> command = {"mpirun", "-n", "2"};
  std::map<std::string, std::string> env;
  if (parse_mpi_version(version.output).family == "Open MPI") {
    // So that one core, and root, are no hindrance to the question itself.
    command.insert(command.end(), {"--bind-to", "none", "--oversubscribe"});
    env = {{"OMPI_ALLOW_RUN_AS_ROOT", "1"}, {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"}};
  }
  command.insert(command.end(), {own_program(), "mpi-check"});
  const bool root_allowed =
      variable("OMPI_ALLOW_RUN_AS_ROOT") && variable("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM");
  findings.push_back(
      judge_start(capture(command, seconds(kStartLimit_s), env), geteuid() == 0, root_allowed));
}

void check_torch_and_gpus(std::vector<Finding>& findings) {
  const std::string program = agent::find_program(own_program(), "batchsweep-trial");
  const Captured version = program.empty() ? Captured{} : ask({program, "--about"});
  findings.push_back(judge_trial(program, version));
  const Captured smi =
      ask({"nvidia-smi", "--query-gpu=name,compute_cap,driver_version", "--format=csv,noheader"});
  for (Finding& finding : judge_gpus(parse_nvidia_smi(smi), parse_trial_version(version.output)))
    findings.push_back(std::move(finding));
}

std::vector<Finding> examine() {
  std::vector<Finding> findings;
  check_mpi(findings);
  check_torch_and_gpus(findings);
  const Captured srun = ask({"srun", "--version"});
  findings.push_back(judge_slurm(srun, srun.started ? ask({"srun", "--mpi=list"}) : Captured{}));
  const FolderFacts folder = look_folder(std::filesystem::current_path().string());
  findings.push_back(judge_recording(folder));
  findings.push_back(judge_file_locking(folder, results::hdf5_library_version()));
  findings.push_back(judge_disk(folder));
  findings.push_back(judge_shared_memory(look_shared_memory()));
  findings.push_back(judge_cpus(look_cpus()));
  findings.push_back(judge_clock(look_clock()));
  findings.push_back(judge_library_path(variable("LD_LIBRARY_PATH")));
  return findings;
}

// One of the two ranks that doctor starts. The ring of greetings shows that the launcher and the
// library belong together.
ExitCode mpi_check() {
  const auto transport = orchestrator::make_mpi_transport();
  for (int peer = 0; peer < transport->size(); ++peer) {
    if (peer != transport->self()) transport->send(peer, protocol::Role::kAgent, "greeting");
  }
  int heard = 0;
  const Instant deadline = system_clock().now() + seconds(kPeerLimit_s);
  while (heard < transport->size() - 1 && system_clock().now() < deadline) {
    if (transport->receive())
      ++heard;
    else
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  std::printf("rank %d of %d, heard from %d peers\n", transport->self(), transport->size(), heard);
  std::fflush(stdout);
  const bool all = heard == transport->size() - 1;
  if (!transport->close(kPeerLimit_s)) _exit(static_cast<int>(ExitCode::kEnvironment));
  return all ? ExitCode::kDone : ExitCode::kEnvironment;
}

}  // namespace

void add_doctor(CommandLine& line) {
  auto format = std::make_shared<std::string>();
  line.add("doctor", "check this machine line by line: ok, warning, error with the cure")
      .choice("--format", *format, {"text", "json"}, "how to print the findings")
      .example("cd /where/the/results/shall/be && batchsweep doctor")
      .run([format]() -> ExitCode {
        const std::vector<Finding> findings = examine();
        const std::string answer =
            *format == "json" ? dump(to_json(findings), 2) + "\n" : render_text(findings);
        std::fputs(answer.c_str(), stdout);
        return count(findings, Level::kError) == 0 ? ExitCode::kDone : ExitCode::kEnvironment;
      });
  line.add("mpi-check", "one rank of doctor's trial start").hide().run(mpi_check);
}

}  // namespace batchsweep::cli
