// SPDX-License-Identifier: Apache-2.0
#include "base/check.hpp"

#include <cstdio>
#include <cstdlib>

namespace batchsweep {

void assertion_failed(const char* what, const char* file, int line) {
  std::fprintf(stderr, "batchsweep: internal error: %s does not hold (%s:%d). Please report this.\n", what, file, line);
  std::abort();
}

}  // namespace batchsweep
