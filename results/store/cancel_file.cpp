// SPDX-License-Identifier: Apache-2.0
#include "results/store/cancel_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include "results/store/posix_file.hpp"

namespace batchsweep::results {
namespace {

std::string cancel_path(const std::string& results_path) { return results_path + ".cancel"; }

}  // namespace

void write_cancel_request(const std::string& results_path) {
  (void)open_file(cancel_path(results_path), O_WRONLY | O_CREAT);
}

bool take_cancel_request(const std::string& results_path) {
  return ::unlink(cancel_path(results_path).c_str()) == 0;
}

}  // namespace batchsweep::results
