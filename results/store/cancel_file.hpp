// SPDX-License-Identifier: Apache-2.0
// F.h5.cancel: how `batchsweep cancel` reaches a running sweep from any host that sees the folder.
// The sweep looks about once a second; one that takes the lock removes what an older one did not
// see.
#pragma once

#include <string>

namespace batchsweep::results {

void write_cancel_request(const std::string& results_path);
// True once, if there was a request; removes it.
[[nodiscard]] bool take_cancel_request(const std::string& results_path);

}  // namespace batchsweep::results
