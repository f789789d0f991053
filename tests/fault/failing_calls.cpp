// SPDX-License-Identifier: Apache-2.0
// Preloaded: FAILING_CALL="fdatasync:.journal:8:5" lets the 8th and every later fdatasync of a file
// whose name ends so fail with errno 5. Calls: write, fsync, fdatasync, flock. JUMPING_CLOCK=8 sets
// the wall clock back by an hour from the 8th look on.
#include <dlfcn.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <string_view>

namespace {

struct Failure {
  std::string call, ending;
  long from = 0;
  int error = 0;
};

Failure failure() {
  Failure failure;
  const char* text = std::getenv("FAILING_CALL");
  std::string_view rest = text == nullptr ? "" : text;
  const auto next = [&] {
    const std::size_t colon = std::min(rest.find(':'), rest.size());
    const std::string word(rest.substr(0, colon));
    rest.remove_prefix(std::min(colon + 1, rest.size()));
    return word;
  };
  failure.call = next();
  failure.ending = next();
  failure.from = std::atol(next().c_str());
  failure.error = std::atoi(next().c_str());
  return failure;
}

bool fails(std::string_view call, int fd) {
  static const Failure wanted = failure();
  static long calls = 0;
  if (call != wanted.call) return false;
  char name[4096];
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  const ssize_t length = readlink(link.c_str(), name, sizeof name);
  if (length <= 0 ||
      !std::string_view(name, static_cast<std::size_t>(length)).ends_with(wanted.ending))
    return false;
  if (++calls < wanted.from) return false;
  errno = wanted.error;
  return true;
}

template <class Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {
ssize_t write(int fd, const void* bytes, size_t size) {
  static auto* const next = real<ssize_t(int, const void*, size_t)>("write");
  return fails("write", fd) ? -1 : next(fd, bytes, size);
}
int fsync(int fd) {
  static auto* const next = real<int(int)>("fsync");
  return fails("fsync", fd) ? -1 : next(fd);
}
int fdatasync(int fd) {
  static auto* const next = real<int(int)>("fdatasync");
  return fails("fdatasync", fd) ? -1 : next(fd);
}
int clock_gettime(clockid_t clock, timespec* time) noexcept {
  static auto* const next = real<int(clockid_t, timespec*)>("clock_gettime");
  static const char* const from = std::getenv("JUMPING_CLOCK");
  static long looks = 0;
  const int result = next(clock, time);
  if (from != nullptr && clock == CLOCK_REALTIME && ++looks >= std::atol(from))
    time->tv_sec -= 3600;
  return result;
}
int flock(int fd, int operation) noexcept {
  static auto* const next = real<int(int, int)>("flock");
  return fails("flock", fd) ? -1 : next(fd, operation);
}
}
