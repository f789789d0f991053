// SPDX-License-Identifier: Apache-2.0
#include "results/record/fields.hpp"

namespace batchsweep::results {
namespace {

using R = TrialRecord;
using F = Field<TrialRecord>;

// In the order of the file's columns. A meaning is a sentence for somebody who has only the file.
const F kTrialFields[] = {
    // which
    {"run_id", "",
     "Names the run the row belongs to: new with a new results file and with --rerun; runs are "
     "never mixed in one answer.",
     &R::run_id},
    {"trial_id", "",
     "16 hex digits of SHA-256 over everything that changes the work or how it is measured; equal "
     "settings give an equal id on any machine.",
     &R::trial_id},
    {"repeat", "", "Which of the [trial] repeats this is, counted from 0; each is a fresh process.",
     &R::repeat},
    {"attempt", "",
     "Which execution of this trial and repeat this is, counted from 1; a number is never used "
     "twice.",
     &R::attempt},
    {"sequence", "",
     "Order in which the attempts of this file were recorded, counted from 1; use it instead of "
     "times to order rows.",
     &R::sequence},
    {"origin", "",
     "Where the numbers come from: measured (a real training), rehearsed (played) or published "
     "(imported); one file holds one origin.",
     &R::origin},
    {"site", "", "Name of the site as the site file gives it; empty where there is none.",
     &R::site},
    {"outcome", "",
     "How the attempt ended: completed, out_of_memory, host_out_of_memory, failed, crashed, "
     "timed_out, diverged, skipped, interrupted or lost.",
     &R::outcome},
    {"reason", "",
     "A word of a closed list that says more about the outcome, e.g. stall, time_limit, "
     "device_absent, pruned; empty where the outcome says all.",
     &R::reason},
    {"message", "", "The evidence in one sentence, for people.", &R::message},
    // where
    {"gpu", "",
     "Device type that ran the trial: the catalogue name of the card, the driver's name of an "
     "unknown one, or the name of a [[device]].",
     &R::gpu},
    {"gpu_requested", "", "Device type that the grid asked for.", &R::gpu_requested},
    {"device_name", "",
     "Name of the physical device as its driver or the operating system tells it.",
     &R::device_name},
    {"device_memory_bytes", "bytes", "Memory of the physical device in all.",
     &R::device_memory_bytes},
    {"memory_cap_bytes", "bytes",
     "Memory that the device was allowed to use, where a [[device]] caps it; unknown where nothing "
     "caps it.",
     &R::memory_cap_bytes},
    {"reserve_bytes", "bytes",
     "Taken off the memory for what the allocator does not see (context, libraries); the limit of "
     "the trial is memory minus reserve.",
     &R::reserve_bytes},
    {"emulated", "",
     "True where a device stands in for a card of another type under that card's name; its times "
     "say nothing about that card.",
     &R::emulated},
    {"compute_capability", "",
     "CUDA compute capability of the physical device, e.g. 9.0; empty for a CPU.",
     &R::compute_capability},
    {"hostname", "", "Name of the host that rank 0 ran on.", &R::hostname},
    {"host_id", "", "Row of /hosts that describes the host of rank 0.", &R::host_id},
    {"software_id", "", "Row of /software with every version and switch that the trial ran under.",
     &R::software_id},
    {"slurm_job_id", "", "Slurm job that ran the trial; empty outside Slurm.", &R::slurm_job_id},
    // what
    {"model", "",
     "Model as the grid names it: a built-in model or a [model.NAME] of the sweep file.",
     &R::model},
    {"precision", "",
     "fp32 (TF32 off everywhere), tf32, fp16 or bf16 (both autocast), or bf16-true (weights in "
     "bf16).",
     &R::precision},
    {"precision_native", "",
     "True where the device computes this precision in hardware; false where it is emulated and "
     "therefore slow.",
     &R::precision_native},
    {"batch_size", "", "Samples per rank and micro-step.", &R::batch_size},
    {"global_batch_size", "",
     "Samples per optimizer step over all ranks: batch_size x world_size x "
     "gradient_accumulation_steps.",
     &R::global_batch_size},
    {"world_size", "", "Data-parallel ranks of the trial, one device each.", &R::world_size},
    {"num_nodes", "",
     "Hosts that the trial asked to be spread over: min (as few as possible) or a number.",
     &R::num_nodes},
    {"placement", "", "Where the trial may run: any, each-node or each-device.", &R::placement},
    {"pinned_to", "",
     "Where each-node (a host's name) or each-device (a device's UUID) pinned the trial to.",
     &R::pinned_to},
    {"optimizer", "", "Optimizer that updated the weights: sgd, adam or adamw.", &R::optimizer},
    {"memory_format", "", "Layout of image tensors: contiguous or channels_last.",
     &R::memory_format},
    {"sequence_length", "", "Tokens per sample; unknown for models of images.",
     &R::sequence_length},
    {"image_height", "", "Height of the input images in pixels; unknown for models of language.",
     &R::image_height},
    {"image_width", "", "Width of the input images in pixels; unknown for models of language.",
     &R::image_width},
    {"gradient_accumulation_steps", "",
     "Micro-steps whose gradients are summed before one optimizer step.",
     &R::gradient_accumulation_steps},
    {"activation_checkpointing", "",
     "True where activations are computed a second time in the backward pass instead of being "
     "kept.",
     &R::activation_checkpointing},
    {"env", "",
     "Variables of [trial] env that the trial was given, NAME=VALUE separated by spaces.", &R::env},
    {"seed", "",
     "[sweep] seed; the seed of the process follows from it, the model, the data and the repeat.",
     &R::seed},
    {"data", "",
     "What the trial was trained on: the name of a built-in source, or the full path of a file "
     "behind its kind, e.g. text:/data/words.txt.",
     &R::data},
    {"runtime", "", "Trial program: the name of a [[runtime]], empty for the built one.",
     &R::runtime},
    {"parallelism", "", "How the ranks share the work, e.g. ddp; none for one rank.",
     &R::parallelism},
    {"execution", "", "How the framework executes the model, e.g. eager.", &R::execution},
    {"cpu_threads", "", "Threads that each rank computes with on the CPU.", &R::cpu_threads},
    {"torch_version", "", "Version of LibTorch.", &R::torch_version},
    {"cuda_version", "", "Version of CUDA that LibTorch was built for; empty for a CPU.",
     &R::cuda_version},
    {"cudnn_version", "", "Version of cuDNN; empty where it was not loaded.", &R::cudnn_version},
    {"nccl_version", "", "Version of NCCL; empty where it was not used.", &R::nccl_version},
    {"driver_version", "", "Version of the GPU driver; empty for a CPU.", &R::driver_version},
    // measured
    {"num_parameters", "", "Trainable parameters of the model as it was built.",
     &R::num_parameters},
    {"warmup_steps", "",
     "Optimizer steps that ran before the timed window: not in any time, but in the peaks.",
     &R::warmup_steps},
    {"timed_steps", "",
     "Optimizer steps that ran in the timed window; of an attempt that ended early, as far as all "
     "ranks came.",
     &R::timed_steps},
    {"applied_steps", "",
     "Steps, warm-up included, in which the optimizer changed the weights; the least over the "
     "ranks. Optimizer state exists only after the first.",
     &R::applied_steps},
    {"skipped_steps", "",
     "Steps, warm-up included, that the loss scaler skipped because gradients were not finite; the "
     "most over the ranks.",
     &R::skipped_steps},
    {"samples", "",
     "Samples that all ranks together processed in the timed window, counted, not computed from "
     "the batch size.",
     &R::samples},
    {"tokens", "",
     "Tokens that all ranks together processed in the timed window; unknown for models of images.",
     &R::tokens},
    {"window_s", "s",
     "Length of the timed window on the slowest rank, the device synchronised at both ends.",
     &R::window_s},
    {"samples_per_s", "1/s",
     "Throughput of all ranks together: samples / window_s. Never a mean of rates.",
     &R::samples_per_s},
    {"samples_per_s_per_gpu", "1/s", "Throughput per device: samples_per_s / world_size.",
     &R::samples_per_s_per_gpu},
    {"samples_per_s_ci_low", "1/s",
     "Lower end of the 95 % confidence interval of samples_per_s within this process, from means "
     "of consecutive steps; unknown with fewer than 8 timed steps.",
     &R::samples_per_s_ci_low},
    {"samples_per_s_ci_high", "1/s",
     "Upper end of that interval. It does not cover the spread from process to process: use "
     "[trial] repeats for that.",
     &R::samples_per_s_ci_high},
    {"tokens_per_s", "1/s", "Tokens of all ranks together per second: tokens / window_s.",
     &R::tokens_per_s},
    {"step_time_median_s", "s", "Median time of the timed optimizer steps of the slowest rank.",
     &R::step_time_median_s},
    {"step_time_median_ci_low_s", "s",
     "Lower end of the 95 % confidence interval of that median, by order statistics; unknown with "
     "fewer than 6 timed steps.",
     &R::step_time_median_ci_low_s},
    {"step_time_median_ci_high_s", "s", "Upper end of that interval.",
     &R::step_time_median_ci_high_s},
    {"step_time_p95_s", "s",
     "95th percentile of those step times, between neighbours interpolated linearly.",
     &R::step_time_p95_s},
    {"step_time_std_s", "s", "Standard deviation of those step times (divided by n - 1).",
     &R::step_time_std_s},
    {"mfu", "",
     "Model FLOP/s over the card's dense peak for this precision, 0 to 1: 6 FLOP per multiply-add "
     "of the forward pass (backward counts twice the forward). Unknown where model work or peak is "
     "unknown, and for emulated devices.",
     &R::mfu},
    {"scaling_efficiency", "",
     "Throughput over that of the smallest world size times the ratio of world sizes, 0 to 1; "
     "filled where that other trial is known, by report otherwise.",
     &R::scaling_efficiency},
    {"data_wait_s", "s",
     "Time within the timed window in which the slowest rank waited for its data.",
     &R::data_wait_s},
    {"comm_exposed_s", "s",
     "Time per step that communication between ranks was not hidden behind computing.",
     &R::comm_exposed_s},
    {"comm_overlapped_s", "s",
     "Time per step that communication between ranks was hidden behind computing.",
     &R::comm_overlapped_s},
    {"comm_bytes_per_step", "bytes",
     "Bytes of gradients that each rank gives to the collectives per optimizer step.",
     &R::comm_bytes_per_step},
    {"neighbours_max", "",
     "Most other trials that ran on one of this trial's hosts while it ran; 0 means it had the "
     "host alone.",
     &R::neighbours_max},
    {"peak_allocated_bytes", "bytes",
     "Largest sum of live tensors over the whole process, warm-up included, maximum over ranks: "
     "what fitting means, as torch.cuda.max_memory_allocated.",
     &R::peak_allocated_bytes},
    {"peak_reserved_bytes", "bytes",
     "Most memory that the allocator held, live or cached, over the whole process, maximum over "
     "ranks.",
     &R::peak_reserved_bytes},
    {"peak_device_used_bytes", "bytes",
     "Most memory in use on the device as its driver counts it (context and libraries included), "
     "maximum over ranks.",
     &R::peak_device_used_bytes},
    {"steady_peak_allocated_bytes", "bytes", "As peak_allocated_bytes, over the timed window only.",
     &R::steady_peak_allocated_bytes},
    {"steady_peak_reserved_bytes", "bytes", "As peak_reserved_bytes, over the timed window only.",
     &R::steady_peak_reserved_bytes},
    {"rss_peak_bytes", "bytes",
     "Largest resident set of a rank's process on its host, maximum over ranks.",
     &R::rss_peak_bytes},
    {"oom_requested_bytes", "bytes", "Size of the allocation that the guilty rank was refused.",
     &R::oom_requested_bytes},
    {"oom_allocated_bytes", "bytes", "Live tensors of the guilty rank at that moment.",
     &R::oom_allocated_bytes},
    {"oom_reserved_bytes", "bytes",
     "Memory that the allocator of the guilty rank held at that moment; well above "
     "oom_allocated_bytes means fragmentation.",
     &R::oom_reserved_bytes},
    {"oom_limit_bytes", "bytes",
     "Limit that the guilty rank ran into: the device's memory minus the reserve.",
     &R::oom_limit_bytes},
    {"guilty_rank", "", "Rank whose evidence decided the outcome.", &R::guilty_rank},
    {"exit_code", "", "Exit code of the guilty rank's process, where it ended by one.",
     &R::exit_code},
    {"signal", "", "Number of the signal that ended the guilty rank's process.", &R::signal},
    {"phase", "",
     "Phase in which the attempt ended, where it did not complete: launch, setup, warmup, timed or "
     "teardown.",
     &R::phase},
    {"energy_j", "J", "Energy that the devices of the trial used in the timed window.",
     &R::energy_j},
    {"power_mean_w", "W", "Mean power of the devices of the trial, added up, in the timed window.",
     &R::power_mean_w},
    {"sm_clock_median_mhz", "MHz",
     "Median clock of the streaming multiprocessors in the timed window, least over the ranks.",
     &R::sm_clock_median_mhz},
    {"temperature_max_c", "C",
     "Highest temperature of a device of the trial in the timed window, in degrees Celsius.",
     &R::temperature_max_c},
    {"throttle_reasons", "",
     "Reasons for which a device lowered its clocks in the timed window, as the driver names them.",
     &R::throttle_reasons},
    {"loss_first", "", "Loss of the first step, mean over ranks.", &R::loss_first},
    {"loss_last", "", "Loss of the last step, mean over ranks.", &R::loss_last},
    {"started_utc", "",
     "When the attempt was started, UTC, ISO 8601. For reading only: durations come from monotonic "
     "clocks.",
     &R::started_utc},
    {"duration_s", "s", "From the placement of the trial until its last process had ended.",
     &R::duration_s},
    {"setup_s", "s", "From the start of the process until its first step began, slowest rank.",
     &R::setup_s},
    {"steps_offset", "", "First row of this attempt in /steps.", &R::steps_offset},
    {"steps_count", "", "Number of its rows in /steps, all ranks behind each other.",
     &R::steps_count},
    {"log_text_row", "",
     "Row of /text with the evidence, head and tail of the trial's output; unknown where nothing "
     "was kept.",
     &R::log_text_row},
};

}  // namespace

template <>
std::span<const Field<TrialRecord>> fields_of<TrialRecord>() {
  return kTrialFields;
}

}  // namespace batchsweep::results
