// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <unistd.h>

#include "base/error.hpp"
#include "results/store/posix_file.hpp"
#include "results/store/results_file.hpp"
#include "results/store/results_store.hpp"
#include "results/store/snapshot.hpp"

namespace batchsweep::results {

void publish(const std::string& path) {
  const std::string next = path + ".tmp";
  std::string image;
  try {
    image = Snapshot(path).image();
  } catch (const H5Error& error) {
    throw IoError("cannot make " + path + ": " + error.what());
  }
  try {
    const UniqueFd fd = open_file(next, O_WRONLY | O_CREAT | O_TRUNC);
    write_all(fd.get(), image, next);
    write_all(fd.get(), seal_of(image), next);
    sync_file(fd.get(), next);
    rename_file(next, path);
  } catch (...) {
    ::unlink(next.c_str());  // on a full disk it would take the room that the journal needs
    throw;
  }
  sync_folder_of(path);
}

}  // namespace batchsweep::results
