// SPDX-License-Identifier: Apache-2.0
#include "cli/cancel_file.hpp"

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "base/error.hpp"

namespace batchsweep::cli {
namespace {

std::string cancel_path(const std::string& results_path) { return results_path + ".cancel"; }

}  // namespace

void write_cancel_request(const std::string& results_path) {
  std::ofstream file(cancel_path(results_path));
  if (!file) throw_errno("cannot write " + cancel_path(results_path), errno);
}

bool take_cancel_request(const std::string& results_path) {
  std::error_code error;
  return std::filesystem::remove(cancel_path(results_path), error);
}

}  // namespace batchsweep::cli
