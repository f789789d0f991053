// SPDX-License-Identifier: Apache-2.0
#include "worker/train/process_clock.hpp"

#include <unistd.h>

#include <ctime>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

namespace batchsweep::train {
namespace {

constexpr int kFieldsAfterNameBeforeStart =
    19;  // of /proc/self/stat: start time is field 22, the name is field 2

double process_start_since_boot_s() {
  std::ifstream file("/proc/self/stat");
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  std::istringstream fields(text.substr(text.rfind(')') + 1));  // the name may hold anything
  std::string skipped;
  for (int i = 0; i < kFieldsAfterNameBeforeStart; ++i) fields >> skipped;
  double ticks = 0;
  fields >> ticks;
  return ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
}

}  // namespace

double seconds_since_process_start() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9 -
         process_start_since_boot_s();
}

}  // namespace batchsweep::train
