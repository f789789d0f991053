// SPDX-License-Identifier: Apache-2.0
#include "results/store/status_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include "base/error.hpp"
#include "results/store/posix_file.hpp"

namespace batchsweep::results {
namespace {
std::string status_path(const std::string& results_path) { return results_path + ".status.json"; }
}  // namespace

bool write_status(const std::string& results_path, const Json& status) {
  const std::string path = status_path(results_path), next = path + ".tmp";
  try {
    {
      const UniqueFd fd = open_file(next, O_WRONLY | O_CREAT | O_TRUNC);
      write_all(fd.get(), dump(status) + "\n", next);
    }
    rename_file(next, path);
    return true;
  } catch (const IoError&) {
    ::unlink(next.c_str());
    return false;
  }
}

Json read_status(const std::string& results_path) {
  try {
    const Json status = Json::parse(read_whole_file(status_path(results_path)), nullptr, false);
    return status.is_discarded() ? Json() : status;
  } catch (const IoError&) {
    return {};
  }
}

void remove_status(const std::string& results_path) { ::unlink(status_path(results_path).c_str()); }

}  // namespace batchsweep::results
