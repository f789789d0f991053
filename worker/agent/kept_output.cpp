// SPDX-License-Identifier: Apache-2.0
#include "worker/agent/kept_output.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace batchsweep::agent {

void KeptOutput::add(std::string_view bytes) {
  const std::size_t to_head = std::min(bytes.size(), kHead - head_.size());
  head_.append(bytes.substr(0, to_head));
  tail_.append(bytes.substr(to_head));
  if (tail_.size() > 2 * kTail) {  // seldom, so that each byte is moved once
    dropped_ += tail_.size() - kTail;
    tail_.erase(0, tail_.size() - kTail);
  }
}

std::string KeptOutput::text() const {
  const std::size_t over = tail_.size() > kTail ? tail_.size() - kTail : 0;
  const std::uint64_t missing = dropped_ + over;
  if (missing == 0) return head_ + tail_;
  return fmt::format("{}\n... {} bytes left out ...\n{}", head_, missing,
                     std::string_view(tail_).substr(over));
}

}  // namespace batchsweep::agent
