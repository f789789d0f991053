// SPDX-License-Identifier: Apache-2.0
// One recorded attempt of one trial, raw: what /trials, /attempts, /ranks, /steps, /hosts, /software and /text are written from.
// Column names, units and meanings stand once, in results/record/fields.hpp. Unknown numbers are nullopt (NaN in the file), unknown
// text is "". Bytes, seconds, 1/s. Derived columns (rates, medians) are filled by results/record/derive.hpp before journalling.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "results/record/outcome.hpp"
#include "sweeps/trial_spec.hpp"

namespace batchsweep::results {

using Number = std::optional<double>;

// Columns of /trials and /attempts.
struct TrialRecord {
  // which
  std::string run_id, trial_id;  // trial_id: 16 hex digits
  std::int64_t repeat = 0, attempt = 1, sequence = 0;  // repeat from 0, attempt from 1; sequence = order of recording
  std::string origin = "measured", site;
  std::string outcome, reason, message;
  // where
  std::string gpu, gpu_requested, device_name;
  Number device_memory_bytes, memory_cap_bytes, reserve_bytes;
  bool emulated = false;
  std::string compute_capability, hostname, host_id, software_id, slurm_job_id;
  // what
  std::string model, precision;
  bool precision_native = true;
  std::int64_t batch_size = 0, global_batch_size = 0, world_size = 1;
  std::string num_nodes, placement, pinned_to, optimizer, memory_format;
  Number sequence_length, image_height, image_width;
  std::int64_t gradient_accumulation_steps = 1;
  bool activation_checkpointing = false;
  std::string env;
  std::int64_t seed = 1;
  std::string data, runtime, parallelism, execution;
  Number cpu_threads;
  std::string torch_version, cuda_version, cudnn_version, nccl_version, driver_version;
  // measured
  Number num_parameters, warmup_steps, timed_steps, applied_steps, skipped_steps, samples, tokens, window_s;
  Number samples_per_s, samples_per_s_per_gpu, samples_per_s_ci_low, samples_per_s_ci_high, tokens_per_s;
  Number step_time_median_s, step_time_median_ci_low_s, step_time_median_ci_high_s, step_time_p95_s, step_time_std_s, mfu, scaling_efficiency;
  Number data_wait_s, comm_exposed_s, comm_overlapped_s, comm_bytes_per_step, neighbours_max;
  Number peak_allocated_bytes, peak_reserved_bytes, peak_device_used_bytes;
  Number steady_peak_allocated_bytes, steady_peak_reserved_bytes, rss_peak_bytes;
  Number oom_requested_bytes, oom_allocated_bytes, oom_reserved_bytes, oom_limit_bytes;
  Number guilty_rank, exit_code, signal;
  std::string phase;
  Number energy_j, power_mean_w, sm_clock_median_mhz, temperature_max_c;
  std::string throttle_reasons;
  Number loss_first, loss_last;
  std::string started_utc;
  Number duration_s, setup_s;
  Number steps_offset, steps_count;  // into /steps; filled when the file is written
  Number log_text_row;               // row of /text that holds evidence and log tail; filled when the file is written
  bool operator==(const TrialRecord&) const = default;
};

// Columns of /ranks; the first four name the trial's attempt.
struct RankRecord {
  std::string run_id, trial_id;
  std::int64_t repeat = 0, attempt = 1, rank = 0, local_rank = 0;
  std::string host_id, hostname, device_uuid, pci_bus_id, device_name;
  std::string outcome, phase, message;  // this rank's own evidence
  Number exit_code, signal;
  Number pid, cpu_threads;
  std::string cpus_allowed;
  Number num_parameters, applied_steps, skipped_steps, samples, tokens, window_s, setup_s, data_wait_s;
  Number comm_exposed_s, comm_overlapped_s, comm_bytes_per_step;
  Number peak_allocated_bytes, peak_reserved_bytes, peak_device_used_bytes;
  Number steady_peak_allocated_bytes, steady_peak_reserved_bytes, rss_peak_bytes;
  Number oom_requested_bytes, oom_allocated_bytes, oom_reserved_bytes, oom_limit_bytes;
  Number loss_first, loss_last;
  Number events_dropped;
  bool operator==(const RankRecord&) const = default;
};

// Rows of /steps of one rank, in order. `step` counts from 1, warm-up first.
struct StepTimes {
  std::int64_t rank = 0;
  std::int64_t warmup_steps = 0;     // the first so many are warm-up
  std::vector<double> time_s;        // NaN where a step was not timed
  std::vector<double> loss;          // same length or empty
  bool operator==(const StepTimes&) const = default;
};

// Every version and switch that a trial ran under: a row of /software. `id` = first 16 hex digits of SHA-256 over the rest.
struct SoftwareRecord {
  std::string id;
  std::string program, torch_version, cuda_version, cudnn_version, nccl_version, driver_version;
  std::string switches;     // "fp32=ieee cudnn_benchmark=0 deterministic=0 ..." as the trial reports it
  std::string environment;  // recorded variables, "NCCL_ALGO=Ring\n..."
  bool operator==(const SoftwareRecord&) const = default;
};

// A row of /hosts. `id` = first 16 hex digits of SHA-256 over the rest.
struct HostRecord {
  std::string id;
  std::string hostname, cpu_name, cpus_allowed, kernel, gpus;
  Number cores_allowed, memory_bytes, shm_bytes, disk_free_bytes;
  bool operator==(const HostRecord&) const = default;
};

// All that one recorded attempt brings: one frame of the journal.
struct AttemptRecord {
  TrialRecord trial;
  std::vector<RankRecord> ranks;
  std::vector<StepTimes> steps;
  SoftwareRecord software;      // id "" where no rank came so far
  std::vector<HostRecord> hosts;  // one a host of the placement
  std::string log;              // evidence and log head and tail for /text; "" = none
  bool operator==(const AttemptRecord&) const = default;
};

}  // namespace batchsweep::results
