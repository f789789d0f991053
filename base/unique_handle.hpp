// SPDX-License-Identifier: Apache-2.0
// Move-only owner of a C handle. Traits say: using Value; static Value empty(); static void close(Value) noexcept.
#pragma once

#include <unistd.h>

#include <utility>

namespace batchsweep {

template <class Traits>
class UniqueHandle {
 public:
  using Value = typename Traits::Value;
  UniqueHandle() = default;
  explicit UniqueHandle(Value value) : value_(value) {}
  UniqueHandle(UniqueHandle&& other) noexcept : value_(other.release()) {}
  UniqueHandle& operator=(UniqueHandle&& other) noexcept {
    if (this != &other) reset(other.release());
    return *this;
  }
  UniqueHandle(const UniqueHandle&) = delete;
  UniqueHandle& operator=(const UniqueHandle&) = delete;
  ~UniqueHandle() { reset(); }

  [[nodiscard]] Value get() const { return value_; }
  [[nodiscard]] explicit operator bool() const { return value_ != Traits::empty(); }
  [[nodiscard]] Value release() { return std::exchange(value_, Traits::empty()); }
  void reset(Value value = Traits::empty()) {
    if (value_ != Traits::empty()) Traits::close(value_);
    value_ = value;
  }

 private:
  Value value_ = Traits::empty();
};

struct FdTraits {
  using Value = int;
  static Value empty() { return -1; }
  static void close(Value fd) noexcept { ::close(fd); }
};
using UniqueFd = UniqueHandle<FdTraits>;

}  // namespace batchsweep
