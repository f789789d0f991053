// SPDX-License-Identifier: Apache-2.0
// BATCHSWEEP_ASSERT: for our own mistakes only. Says what and where, then aborts. Never for input of any kind.
#pragma once

namespace batchsweep {
[[noreturn]] void assertion_failed(const char* what, const char* file, int line);
}  // namespace batchsweep

#define BATCHSWEEP_ASSERT(condition) \
  ((condition) ? static_cast<void>(0) : ::batchsweep::assertion_failed(#condition, __FILE__, __LINE__))
