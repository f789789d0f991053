// SPDX-License-Identifier: Apache-2.0
// batchsweep-trial: trains one trial on one device. Its input is one line of JSON on standard
// input, its events are lines of JSON on the descriptor in BATCHSWEEP_EVENT_FD, else on standard
// output (docs/trial_protocol.md). The exit code is 0 whenever it has told its ending.
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/log.hpp"
#include "worker/protocol/trial_input.hpp"
#include "worker/train/software.hpp"
#include "worker/train/trial.hpp"

namespace {

constexpr std::string_view kProgram = "batchsweep-trial " BATCHSWEEP_VERSION;
constexpr std::string_view kUsage =
    "usage: batchsweep-trial < input.json\n"
    "Trains one trial; usually started by batchsweep run. The input is one line of JSON, for "
    "example\n"
    R"({"protocol":1,"trial_id":"by-hand","seed":1,"spec":{"model":"lenet","model_source":"lenet","batch_size":64},)"
    R"("device":{"kind":"cpu","type":"cpu","threads":2}})"
    "\nand every event is a line of JSON on standard output.\n";

batchsweep::protocol::TrialInput read_input() {
  std::string line;
  std::getline(std::cin, line);
  if (line.empty()) throw batchsweep::UsageError("no input on standard input");
  try {
    return batchsweep::protocol::trial_input_from_json(batchsweep::Json::parse(line));
  } catch (const batchsweep::Json::exception& error) {
    throw batchsweep::UsageError(std::string("the input is not JSON: ") + error.what());
  }
}

// One line of JSON for `batchsweep doctor`.
std::string about() {
  const auto software = batchsweep::train::software_of(std::string(kProgram), "");
  return batchsweep::dump({{"program", software.program},
                           {"torch_version", software.torch_version},
                           {"cuda_version", software.cuda_version},
                           {"cudnn_version", software.cudnn_version},
                           {"nccl_version", software.nccl_version}});
}

int run(int argc, char** argv) {
  const std::string_view option = argc == 2 ? argv[1] : "";
  if (option == "--version" || option == "--help") {
    std::cout << (option == "--help" ? kUsage : kProgram) << '\n';
    return 0;
  }
  if (option == "--about") {
    std::cout << about() << '\n';
    return 0;
  }
  if (argc > 1)
    throw batchsweep::UsageError("no arguments are known but --help, --version and --about");
  const auto input = read_input();
  batchsweep::protocol::EventWriter writer;
  batchsweep::train::run_trial(input, std::string(kProgram), writer, std::cin);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  batchsweep::start_log("batchsweep-trial");
  int exit_code = static_cast<int>(batchsweep::ExitCode::kUsage);
  try {
    exit_code = run(argc, argv);
  } catch (const batchsweep::IoError& error) {
    std::cerr << "batchsweep-trial: " << error.what() << '\n';
    exit_code = static_cast<int>(error.exit_code());
  } catch (const std::exception& error) {
    std::cerr << "batchsweep-trial: " << error.what() << "\n" << kUsage;
  }
  // Everything is told; LibTorch's and CUDA's own destructors would only take time, and their order
  // is not ours.
  std::cout.flush();
  std::_Exit(exit_code);
}
