// SPDX-License-Identifier: Apache-2.0
// batchsweep-player: reads a trial's input line on standard input and plays its script
// (docs/trial_protocol.md).
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <string>

#include "base/error.hpp"
#include "worker/play/play.hpp"

namespace {

std::string read_line() {
  std::string line;
  char buffer[16 * 1024];
  for (ssize_t n; (n = read(STDIN_FILENO, buffer, sizeof buffer)) > 0;) {
    line.append(buffer, static_cast<std::size_t>(n));
    if (const std::size_t end = line.find('\n'); end != std::string::npos)
      return line.substr(0, end);
  }
  return line;
}

int run() {
  const auto input =
      batchsweep::protocol::trial_input_from_json(batchsweep::Json::parse(read_line()));
  if (!input.play) throw batchsweep::ProtocolError("the trial's input holds no script to play");
  batchsweep::protocol::EventWriter events;
  return batchsweep::play::play(input, events);
}

}  // namespace

int main() {
  try {
    const int code = run();
    // No destructors and no atexit: everything said is written, and a short end is half of a short
    // trial.
    _exit(code);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "batchsweep-player: %s\n", error.what());
    return 1;
  }
}
