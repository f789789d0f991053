// SPDX-License-Identifier: Apache-2.0
#include "results/record/fields.hpp"

namespace batchsweep::results {
namespace {

using R = RankRecord;
using S = SoftwareRecord;
using H = HostRecord;

const Field<RankRecord> kRankFields[] = {
    {"run_id", "",
     "With trial_id, repeat and attempt: the row of /trials or /attempts that this rank belongs "
     "to.",
     &R::run_id},
    {"trial_id", "", "Part of that name.", &R::trial_id},
    {"repeat", "", "Part of that name.", &R::repeat},
    {"attempt", "", "Part of that name.", &R::attempt},
    {"rank", "", "Rank in the trial's own group, counted from 0.", &R::rank},
    {"local_rank", "", "Rank among those of the trial on the same host, counted from 0.",
     &R::local_rank},
    {"host_id", "", "Row of /hosts that describes this rank's host.", &R::host_id},
    {"hostname", "", "Host that the rank ran on.", &R::hostname},
    {"device_uuid", "", "UUID of the device: the same card in every file.", &R::device_uuid},
    {"pci_bus_id", "", "PCI address of the device; empty for a CPU.", &R::pci_bus_id},
    {"device_name", "", "Name of the device as its driver or the operating system tells it.",
     &R::device_name},
    {"outcome", "",
     "How this rank ended, judged by its own evidence alone; the trial's outcome is the verdict "
     "over all ranks.",
     &R::outcome},
    {"phase", "", "Phase in which this rank ended, where it did not complete.", &R::phase},
    {"message", "", "This rank's evidence in one sentence.", &R::message},
    {"exit_code", "", "Exit code of the rank's process, where it ended by one.", &R::exit_code},
    {"signal", "", "Number of the signal that ended the rank's process.", &R::signal},
    {"pid", "", "Process id of the rank on its host.", &R::pid},
    {"cpu_threads", "", "Threads that the rank computed with on the CPU.", &R::cpu_threads},
    {"cpus_allowed", "", "CPUs that the rank was allowed to run on, as the kernel lists them.",
     &R::cpus_allowed},
    {"num_parameters", "", "Trainable parameters of the model as this rank built it.",
     &R::num_parameters},
    {"applied_steps", "", "Steps, warm-up included, in which the optimizer changed the weights.",
     &R::applied_steps},
    {"skipped_steps", "", "Steps, warm-up included, that the loss scaler skipped.",
     &R::skipped_steps},
    {"samples", "", "Samples that this rank processed in the timed window.", &R::samples},
    {"tokens", "", "Tokens that this rank processed in the timed window.", &R::tokens},
    {"window_s", "s", "Length of this rank's timed window, the device synchronised at both ends.",
     &R::window_s},
    {"setup_s", "s", "From the start of the process until its first step began.", &R::setup_s},
    {"data_wait_s", "s", "Time within the timed window in which the rank waited for its data.",
     &R::data_wait_s},
    {"comm_exposed_s", "s",
     "Time per step in which the rank waited for gradients of others after its own were computed.",
     &R::comm_exposed_s},
    {"comm_overlapped_s", "s",
     "Time per step in which gradients travelled while the rank computed others.",
     &R::comm_overlapped_s},
    {"comm_bytes_per_step", "bytes",
     "Bytes of gradients that the rank gives to the collectives per optimizer step.",
     &R::comm_bytes_per_step},
    {"peak_allocated_bytes", "bytes",
     "Largest sum of live tensors over the whole process, warm-up included.",
     &R::peak_allocated_bytes},
    {"peak_reserved_bytes", "bytes",
     "Most memory that the allocator held, live or cached, over the whole process.",
     &R::peak_reserved_bytes},
    {"peak_device_used_bytes", "bytes", "Most memory in use on the device as its driver counts it.",
     &R::peak_device_used_bytes},
    {"steady_peak_allocated_bytes", "bytes", "As peak_allocated_bytes, over the timed window only.",
     &R::steady_peak_allocated_bytes},
    {"steady_peak_reserved_bytes", "bytes", "As peak_reserved_bytes, over the timed window only.",
     &R::steady_peak_reserved_bytes},
    {"rss_peak_bytes", "bytes", "Largest resident set of the rank's process on its host.",
     &R::rss_peak_bytes},
    {"oom_requested_bytes", "bytes",
     "Size of the allocation that was refused, where the rank ran out of memory.",
     &R::oom_requested_bytes},
    {"oom_allocated_bytes", "bytes", "Live tensors at that moment.", &R::oom_allocated_bytes},
    {"oom_reserved_bytes", "bytes", "Memory that the allocator held at that moment.",
     &R::oom_reserved_bytes},
    {"oom_limit_bytes", "bytes", "Limit that the rank ran into.", &R::oom_limit_bytes},
    {"loss_first", "", "Loss of this rank's first step.", &R::loss_first},
    {"loss_last", "", "Loss of this rank's last step.", &R::loss_last},
    {"events_dropped", "",
     "Step events that were dropped because the pipe to the agent was full: so many rows are "
     "missing in /steps.",
     &R::events_dropped},
};

const Field<SoftwareRecord> kSoftwareFields[] = {
    {"software_id", "",
     "First 16 hex digits of SHA-256 over the other columns; /trials refers to it.", &S::id},
    {"program", "", "Trial program and its version.", &S::program},
    {"torch_version", "", "Version of LibTorch.", &S::torch_version},
    {"cuda_version", "", "Version of CUDA that LibTorch was built for.", &S::cuda_version},
    {"cudnn_version", "", "Version of cuDNN, where it was loaded.", &S::cudnn_version},
    {"nccl_version", "", "Version of NCCL, where it was used.", &S::nccl_version},
    {"driver_version", "", "Version of the GPU driver.", &S::driver_version},
    {"switches", "", "Switches that change results or speed, as the trial set and reported them.",
     &S::switches},
    {"environment", "",
     "Variables of the trial's environment that change results or speed, one NAME=VALUE a line.",
     &S::environment},
};

const Field<HostRecord> kHostFields[] = {
    {"host_id", "",
     "First 16 hex digits of SHA-256 over the other columns; /trials and /ranks refer to it.",
     &H::id},
    {"hostname", "", "Name of the host, as the agent reported it.", &H::hostname},
    {"cpu_name", "", "Model of its CPU.", &H::cpu_name},
    {"cpus_allowed", "", "CPUs that the agent was allowed to use, as the kernel lists them.",
     &H::cpus_allowed},
    {"kernel", "", "Name and release of its kernel.", &H::kernel},
    {"gpus", "", "Its GPUs, each with name, memory and UUID, separated by semicolons.", &H::gpus},
    {"cores_allowed", "", "Number of CPUs that the agent was allowed to use.", &H::cores_allowed},
    {"memory_bytes", "bytes", "Main memory of the host.", &H::memory_bytes},
    {"shm_bytes", "bytes", "Size of /dev/shm, which data loading and NCCL need.", &H::shm_bytes},
    {"disk_free_bytes", "bytes",
     "Free space of the folder for temporary files when the agent started.", &H::disk_free_bytes},
};

}  // namespace

template <>
std::span<const Field<RankRecord>> fields_of<RankRecord>() {
  return kRankFields;
}
template <>
std::span<const Field<SoftwareRecord>> fields_of<SoftwareRecord>() {
  return kSoftwareFields;
}
template <>
std::span<const Field<HostRecord>> fields_of<HostRecord>() {
  return kHostFields;
}

}  // namespace batchsweep::results
