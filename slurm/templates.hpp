// SPDX-License-Identifier: Apache-2.0
// The text files of slurm/, put into the program at build time. Only batch_script.cpp reads them.
#pragma once

#include <string_view>

namespace batchsweep::slurm {

extern const std::string_view kBatchScript, kRequeue;

}  // namespace batchsweep::slurm
