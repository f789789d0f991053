// SPDX-License-Identifier: Apache-2.0
// What a process printed, however much: the first and the last 32 KiB of it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace batchsweep::agent {

class KeptOutput {
 public:
  static constexpr std::size_t kHead = 32 * 1024, kTail = 32 * 1024;

  void add(std::string_view bytes);
  // Head and tail, with a line between them that says how much is missing.
  [[nodiscard]] std::string text() const;

 private:
  std::string head_, tail_;
  std::uint64_t dropped_ = 0;
};

}  // namespace batchsweep::agent
