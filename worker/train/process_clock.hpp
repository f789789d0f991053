// SPDX-License-Identifier: Apache-2.0
// How long this process exists: loading LibTorch happens before main and belongs to the set-up.
#pragma once

namespace batchsweep::train {

// By the kernel's record of the process's start, which counts in hundredths of a second.
[[nodiscard]] double seconds_since_process_start();

}  // namespace batchsweep::train
