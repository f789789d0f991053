// SPDX-License-Identifier: Apache-2.0
#include "results/store/status_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include "base/error.hpp"
#include "results/store/lock_file.hpp"
#include "results/store/posix_file.hpp"

namespace batchsweep::results {
namespace {
std::string status_path(const std::string& results_path) { return results_path + ".status.json"; }

bool same_process(LockHolder a, const LockHolder& b) {
  a.counter = b.counter;
  return a == b;
}

// Of a sweep that was killed the last status stays: only the lock tells.
bool still_holds(const Json& status, const std::string& results_path) {
  const auto holder = status.find("holder");
  const LockView lock = look_at_lock(results_path);
  if (holder == status.end() || !lock.holder) return false;
  if (lock.state != LockState::kHeld && lock.state != LockState::kUnsure) return false;
  const auto writer = parse_lock(dump(*holder));
  return writer && same_process(*writer, *lock.holder);
}
}  // namespace

bool write_status(const std::string& results_path, Json status) {
  status["holder"] = Json::parse(lock_text(this_process()));
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
    return status.is_object() && still_holds(status, results_path) ? status : Json();
  } catch (const IoError&) {
    return {};
  }
}

void remove_status(const std::string& results_path) { ::unlink(status_path(results_path).c_str()); }

}  // namespace batchsweep::results
