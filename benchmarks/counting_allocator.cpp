// SPDX-License-Identifier: Apache-2.0
// The trials' counting allocator as a shared object for Python: against_pytorch.py loads it after
// torch, so that both sides' memory is counted by the same code.
#include "worker/train/cpu_allocator.hpp"

namespace {
using batchsweep::train::install_cpu_allocator;
}

extern "C" {

// Before the first tensor.
void batchsweep_install_allocator() { install_cpu_allocator(); }

void batchsweep_reset_peaks() { install_cpu_allocator().reset_peaks(); }

double batchsweep_peak_bytes() {
  return static_cast<double>(install_cpu_allocator().peak_allocated());
}
}
