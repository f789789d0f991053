// SPDX-License-Identifier: Apache-2.0
#include "cli/build_id.hpp"

#include <string_view>

namespace batchsweep::cli {
namespace {

// In one piece, so that a test can make another build of a copy of this program.
constexpr std::string_view kMark = "batchsweep-build:";
const volatile char kMarked[] = "batchsweep-build:" BATCHSWEEP_VERSION;

}  // namespace

std::string build_id() {
  std::string id;
  for (const volatile char* at = kMarked + kMark.size(); *at != '\0'; ++at) id += *at;
  return id;
}

}  // namespace batchsweep::cli
