// SPDX-License-Identifier: Apache-2.0
// raw -> derived columns: rates, medians, intervals. Pure; absent input gives absent output. Formulas: docs/measurement.md.
#pragma once

#include "results/record/trial_record.hpp"

namespace batchsweep::results {

// Fills the trial's columns from its ranks and steps. A column whose input is absent stays as it was. Outcome and identity are not touched.
//
// Ranks r of world size N; window_r is rank r's timed window, the device synchronised at both ends.
//     window_s              = max over r of window_r
//     samples, tokens       = sum over r (counted by the ranks; a short last batch counts what it held)
//     samples_per_s         = samples / window_s          never a sum or a mean of the ranks' rates
//     samples_per_s_per_gpu = samples_per_s / N
//     tokens_per_s          = tokens / window_s
//     step_time_median_s, _p95_s, _std_s: the timed steps of the slowest rank; quantiles interpolated linearly, std with n - 1
//     step_time_median_ci_low_s, _high_s: order statistics of the same steps (results/record/step_statistics.hpp); absent with fewer than 6
//     samples_per_s_ci_low, _high = samples_per_s / (1 + h), / (1 - h), h from batch means (results/record/step_statistics.hpp); the upper end
//                             is absent where h >= 1; both with fewer than 8 timed steps. Within this process only.
//     peaks, rss            = max over the ranks that told theirs
//     applied_steps = min, skipped_steps = max over r; setup_s = max over r; losses = mean over r
//     oom_*, exit_code, signal: of guilty_rank
//     mfu                   = samples_per_s_per_gpu x 6 x (multiply-adds of one sample's forward pass) / peak
//                             2 FLOP per multiply-add; training is 3 x forward (backward computes two products for each of the forward's).
//                             Recomputed activations do not count. Peak: the catalogue's dense figure for the precision. Absent where one of
//                             them is unknown, for another input size than the model table's, for emulated devices and rehearsals.
//                             (The definition of Chowdhery et al., PaLM, 2022, appendix B.)
void derive(AttemptRecord& attempt);

}  // namespace batchsweep::results
