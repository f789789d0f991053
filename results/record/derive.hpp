// SPDX-License-Identifier: Apache-2.0
// raw -> derived columns: rates, medians, intervals. Pure; absent input gives absent output. Formulas: docs/measurement.md.
#pragma once

#include "results/record/trial_record.hpp"

namespace batchsweep::results {

// Fills the trial's columns from its ranks and steps: window = slowest rank, samples = sum over ranks, peaks = maximum over ranks,
// throughput = samples / window (never a mean of rates), step-time median, p95, std over the timed steps of the slowest rank, and the
// confidence interval of the throughput (batch means, autocorrelated steps). Does not touch outcome or identity.
void derive(AttemptRecord& attempt);

}  // namespace batchsweep::results
