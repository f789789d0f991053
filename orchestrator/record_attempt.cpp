// SPDX-License-Identifier: Apache-2.0
#include "orchestrator/record_attempt.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sweeps/trial_defaults.hpp"

namespace batchsweep::orchestrator {
namespace {

using results::Number;

template <class T>
Number number(const std::optional<T>& value) {
  return value ? Number(static_cast<double>(*value)) : std::nullopt;
}

std::string env_text(const std::map<std::string, std::string>& env) {
  std::string text;
  for (const auto& [name, value] : env)
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
  return text;
}

void fill_what(results::TrialRecord& row, const sweeps::TrialSpec& asked) {
  const sweeps::TrialSpec spec = sweeps::with_defaults(asked);
  row.origin = batchsweep::to_text(spec.origin);
  row.gpu_requested = spec.gpu;
  row.model = spec.model;
  row.precision = spec.precision;
  row.batch_size = spec.batch_size;
  row.global_batch_size = spec.batch_size * spec.world_size * spec.gradient_accumulation_steps;
  row.world_size = spec.world_size;
  row.num_nodes = spec.num_nodes;
  row.placement = spec.placement;
  row.pinned_to = spec.pinned_to;
  row.optimizer = spec.optimizer.value_or("");
  row.memory_format = spec.memory_format;
  row.sequence_length = number(spec.sequence_length);
  row.image_height = number(spec.image_height);
  row.image_width = number(spec.image_width);
  row.gradient_accumulation_steps = spec.gradient_accumulation_steps;
  row.activation_checkpointing = spec.activation_checkpointing;
  row.env = env_text(spec.env);
  row.seed = static_cast<std::int64_t>(spec.seed);
  row.data = spec.data;
  row.runtime = spec.runtime;
  row.parallelism = spec.world_size == 1 ? "none" : "ddp";
  row.warmup_steps = static_cast<double>(spec.warmup_steps);
  row.timed_steps = static_cast<double>(spec.timed_steps);
}

void fill_where(results::TrialRecord& row, const Device& device, const Host& host) {
  const protocol::DeviceOffer& offer = device.offer;
  row.gpu = offer.type;
  row.device_name = offer.driver_name;
  row.device_memory_bytes = static_cast<double>(offer.memory_bytes);
  row.memory_cap_bytes = number(offer.cap_bytes);
  row.reserve_bytes = static_cast<double>(offer.reserve_bytes);
  row.emulated = offer.emulated;
  row.compute_capability = offer.compute_capability;
  row.driver_version = offer.driver_version;
  row.cpu_threads = static_cast<double>(offer.threads);
  row.hostname = host.name;
  row.host_id = host.record.id;
}

void fill_outcome(results::TrialRecord& row, const Verdict& verdict) {
  const protocol::Evidence& evidence = verdict.evidence;
  row.outcome = batchsweep::to_text(verdict.outcome);
  row.reason = batchsweep::to_text(verdict.reason);
  row.message = evidence.message;
  row.phase = batchsweep::to_text(evidence.phase);
  row.guilty_rank = number(verdict.guilty_rank);
  row.exit_code = number(evidence.exit_code);
  row.signal = number(evidence.signal);
  row.oom_requested_bytes = evidence.oom_requested_bytes;
  row.oom_allocated_bytes = evidence.oom_allocated_bytes;
  row.oom_reserved_bytes = evidence.oom_reserved_bytes;
  row.oom_limit_bytes = evidence.oom_limit_bytes;
}

void fill_software(results::AttemptRecord& record, const protocol::RankEnded& rank) {
  results::TrialRecord& row = record.trial;
  record.software = rank.software;
  row.software_id = rank.software.id;
  row.torch_version = rank.software.torch_version;
  row.cuda_version = rank.software.cuda_version;
  row.cudnn_version = rank.software.cudnn_version;
  row.nccl_version = rank.software.nccl_version;
  if (!rank.software.driver_version.empty()) row.driver_version = rank.software.driver_version;
  row.precision_native = rank.precision_native;
  row.execution = rank.execution;
}

results::RankRecord rank_row(const Attempt& attempt, std::int64_t rank, const Device& device,
                             const Host& host) {
  const RankState& state = attempt.ranks[static_cast<std::size_t>(rank)];
  results::RankRecord row = state.ended ? state.ended->measured : results::RankRecord{};
  row.trial_id = sweeps::to_text(attempt.key.trial);
  row.repeat = attempt.key.repeat;
  row.attempt = attempt.key.attempt;
  row.rank = rank;
  row.local_rank = state.local_rank;
  row.host_id = host.record.id;
  row.hostname = host.name;
  row.device_uuid = device.offer.uuid;
  row.pci_bus_id = device.offer.pci_bus_id;
  row.device_name = device.offer.driver_name;
  if (!state.ended) return row;
  const protocol::Evidence& evidence = state.ended->evidence;
  row.outcome = batchsweep::to_text(protocol::outcome_of(evidence.kind));
  row.phase = batchsweep::to_text(evidence.phase);
  row.message = evidence.message;
  row.exit_code = number(evidence.exit_code);
  row.signal = number(evidence.signal);
  row.oom_requested_bytes = evidence.oom_requested_bytes;
  row.oom_allocated_bytes = evidence.oom_allocated_bytes;
  row.oom_reserved_bytes = evidence.oom_reserved_bytes;
  row.oom_limit_bytes = evidence.oom_limit_bytes;
  return row;
}

// The guilty rank first: that is what people look for.
std::string log_of(const Attempt& attempt, const std::optional<std::int64_t>& guilty_rank) {
  std::vector<std::int64_t> order(attempt.ranks.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int64_t>(i);
  if (guilty_rank)
    std::ranges::stable_partition(order, [&](std::int64_t rank) { return rank == *guilty_rank; });
  std::string text;
  for (const std::int64_t rank : order) {
    const std::optional<protocol::RankEnded>& ended =
        attempt.ranks[static_cast<std::size_t>(rank)].ended;
    if (!ended || ended->log.empty()) continue;
    if (!text.empty() && !text.ends_with('\n')) text += '\n';
    if (attempt.ranks.size() > 1)
      text += fmt::format("== rank {}{}\n", rank, rank == guilty_rank ? ", guilty" : "");
    text += ended->log;
  }
  return text;
}

void fill_ranks(results::AttemptRecord& record, const Attempt& attempt, const Cluster& cluster) {
  std::int64_t rank = 0;
  for (const RankState& state : attempt.ranks) {
    const Device& device = cluster.device(state.device);
    const Host& host = cluster.hosts()[device.host];
    record.ranks.push_back(rank_row(attempt, rank, device, host));
    if (std::ranges::find(record.hosts, host.record) == record.hosts.end())
      record.hosts.push_back(host.record);
    if (state.ended) {
      if (record.software.id.empty() && !state.ended->software.id.empty())
        fill_software(record, *state.ended);
      if (!state.ended->steps.time_s.empty()) {
        record.steps.push_back(state.ended->steps);
        record.steps.back().rank = rank;
      }
    }
    ++rank;
  }
}

}  // namespace

results::AttemptRecord record_attempt(const Attempt& attempt, const Verdict& verdict,
                                      const Cluster& cluster, const std::string& site,
                                      Instant now) {
  results::AttemptRecord record;
  results::TrialRecord& row = record.trial;
  row.trial_id = sweeps::to_text(attempt.key.trial);
  row.repeat = attempt.key.repeat;
  row.attempt = attempt.key.attempt;
  row.site = site;
  fill_what(row, attempt.spec);
  const Device& first = cluster.device(attempt.ranks.front().device);
  fill_where(row, first, cluster.hosts()[first.host]);
  fill_outcome(row, verdict);
  fill_ranks(record, attempt, cluster);
  row.neighbours_max = static_cast<double>(attempt.neighbours_max);
  row.duration_s = to_seconds(now - attempt.started);
  record.log = log_of(attempt, verdict.guilty_rank);
  return record;
}

results::AttemptRecord record_skipped(const protocol::AttemptKey& key,
                                      const sweeps::TrialSpec& spec, results::Reason reason,
                                      const std::string& message, const std::string& site) {
  results::AttemptRecord record;
  results::TrialRecord& row = record.trial;
  row.trial_id = sweeps::to_text(key.trial);
  row.repeat = key.repeat;
  row.attempt = key.attempt;
  row.site = site;
  fill_what(row, spec);
  row.warmup_steps = row.timed_steps = 0;
  row.outcome = batchsweep::to_text(results::Outcome::kSkipped);
  row.reason = batchsweep::to_text(reason);
  row.message = message;
  row.precision_native = false;
  return record;
}

}  // namespace batchsweep::orchestrator
