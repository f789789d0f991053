// SPDX-License-Identifier: Apache-2.0
#include "worker/protocol/event_writer.hpp"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "base/error.hpp"

namespace batchsweep::protocol {
namespace {

int event_fd() {
  const char* text = std::getenv("BATCHSWEEP_EVENT_FD");
  return text == nullptr ? STDOUT_FILENO : std::atoi(text);
}

// A pipe that polls as writable takes at least PIPE_BUF bytes at once, and a step's line is far
// shorter: so nothing blocks, and the descriptor's flags, which others may share, stay as they are.
bool has_room(int fd) {
  pollfd wanted{fd, POLLOUT, 0};
  return poll(&wanted, 1, 0) == 1 && (wanted.revents & POLLOUT) != 0;
}

void write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(n));
    } else if (errno == EAGAIN) {
      pollfd wanted{fd, POLLOUT, 0};
      poll(&wanted, 1, -1);
    } else if (errno != EINTR) {
      throw_errno("cannot write an event", errno);
    }
  }
}

}  // namespace

EventWriter::EventWriter() : fd_(event_fd()) {}

void EventWriter::write(const TrialEvent& event) {
  if (std::holds_alternative<StepDone>(event) && later_.empty() && !has_room(fd_)) {
    ++dropped_;
    return;
  }
  later_ += encode_line(event);
  flush();
}

void EventWriter::write_later(const TrialEvent& event) {
  constexpr std::size_t kMost = 16 * 1024;
  later_ += encode_line(event);
  if (later_.size() > kMost) flush();
}

void EventWriter::flush() {
  write_all(fd_, later_);
  later_.clear();
}

}  // namespace batchsweep::protocol
