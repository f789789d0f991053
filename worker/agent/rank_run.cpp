// SPDX-License-Identifier: Apache-2.0
#include "worker/agent/rank_run.hpp"

#include <fmt/format.h>

#include "base/hash.hpp"

namespace batchsweep::agent {
namespace {

results::SoftwareRecord software_of(const protocol::Hello& hello, const RankPlace& place) {
  results::SoftwareRecord software = hello.software;
  if (software.driver_version.empty()) software.driver_version = place.device.driver_version;
  software.environment = place.recorded_environment;
  std::string all;
  for (const std::string* part :
       {&software.program, &software.torch_version, &software.cuda_version, &software.cudnn_version,
        &software.nccl_version, &software.driver_version, &software.switches,
        &software.environment}) {
    all += *part;
    all += '\0';
  }
  software.id = fmt::format("{:016x}", sha256_prefix(all));
  return software;
}

}  // namespace

protocol::RankEnded rank_ended(const RankPlace& place, const protocol::Evidence& evidence,
                               results::RankRecord measured) {
  protocol::RankEnded ended{.key = place.key, .rank = place.launch.rank, .evidence = evidence};
  results::RankRecord& record = ended.measured = std::move(measured);
  record.trial_id = sweeps::to_text(place.key.trial);
  record.repeat = place.key.repeat;
  record.attempt = place.key.attempt;
  record.rank = place.launch.rank;
  record.local_rank = place.launch.local_rank;
  record.host_id = place.host_id;
  record.hostname = place.hostname;
  record.device_uuid = place.device.uuid;
  record.pci_bus_id = place.device.pci_bus_id;
  record.device_name = place.device.driver_name;
  record.outcome = to_text(protocol::outcome_of(evidence.kind));
  record.phase = to_text(evidence.phase);
  record.message = evidence.message;
  record.exit_code = evidence.exit_code;
  record.signal = evidence.signal;
  record.cpus_allowed = place.cpus_allowed;
  if (!record.cpu_threads) record.cpu_threads = static_cast<double>(place.device.threads);
  record.oom_requested_bytes = evidence.oom_requested_bytes;
  record.oom_allocated_bytes = evidence.oom_allocated_bytes;
  record.oom_reserved_bytes = evidence.oom_reserved_bytes;
  record.oom_limit_bytes = evidence.oom_limit_bytes;
  ended.steps.rank = place.launch.rank;
  return ended;
}

RankRun::RankRun(RankPlace place, std::unique_ptr<Process> process, sweeps::TrialLimits limits,
                 Instant now)
    : place_(std::move(place)),
      process_(std::move(process)),
      watch_(limits, now),
      last_progress_(now) {}

void RankRun::read_lines(Instant now) {
  for (const std::string& line : process_->take_event_lines()) watch_.on_line(line, now);
}

std::optional<protocol::RankEnded> RankRun::advance(Instant now, double kill_grace_s) {
  // The order matters: whatever was written before the exit is in the pipe once the exit is seen.
  if (!status_) status_ = process_->poll_exit();
  read_lines(now);
  if (!status_ && !killing_since_ && watch_.fault(now)) killing_since_ = now;
  if (killing_since_ || status_) {
    if (!killing_since_) killing_since_ = now;
    gone_ = process_->kill_tree();
    if (!status_) status_ = process_->poll_exit();
  }
  if (gone_ && status_) {
    read_lines(now);
    return end(watch_.evidence(*status_, process_->partial_line(), place_.shm_bytes));
  }
  if (killing_since_ && now - *killing_since_ >= seconds(kill_grace_s)) {
    protocol::Evidence evidence = watch_.fault(now).value_or(
        protocol::Evidence{.kind = protocol::EvidenceKind::kTimedOut, .phase = watch_.phase()});
    evidence.kind = protocol::EvidenceKind::kTimedOut;
    evidence.message += fmt::format(
        "{}process {} cannot be killed (it hangs in the kernel); its device is no longer used",
        evidence.message.empty() ? "" : "; ", process_->pid());
    return end(evidence);
  }
  return std::nullopt;
}

void RankRun::kill(std::string_view why, Instant now) {
  watch_.kill_requested(why);
  if (!killing_since_) killing_since_ = now;
  if (!status_) gone_ = process_->kill_tree();
}

std::optional<protocol::RendezvousOpened> RankRun::take_rendezvous() {
  if (told_rendezvous_ || !watch_.rendezvous()) return std::nullopt;
  told_rendezvous_ = true;
  return protocol::RendezvousOpened{place_.key, *watch_.rendezvous()};
}

void RankRun::meet(const protocol::Rendezvous& at) {
  process_->give_line(protocol::rendezvous_line(at));
}

std::optional<protocol::RankProgress> RankRun::progress(Instant now) {
  const std::pair current{watch_.phase(), watch_.finished_steps()};
  if (now - last_progress_ < seconds(1) || current == told_) return std::nullopt;
  last_progress_ = now;
  told_ = current;
  return protocol::RankProgress{place_.key, place_.launch.rank, current.first, current.second};
}

protocol::RankEnded RankRun::end(const protocol::Evidence& evidence) {
  reported_ = true;
  protocol::RankEnded ended = rank_ended(place_, evidence, watch_.measured());
  ended.measured.pid = process_->pid();
  if (!ended.measured.rss_peak_bytes && status_)
    ended.measured.rss_peak_bytes = status_->rss_peak_bytes;
  ended.steps = watch_.steps();
  ended.steps.rank = place_.launch.rank;
  if (const auto& hello = watch_.hello()) {
    ended.software = software_of(*hello, place_);
    ended.precision_native = hello->precision_native;
    ended.execution = hello->execution;
  }
  ended.log = process_->output();
  return ended;
}

std::vector<int> RankRun::descriptors() const {
  return reported_ ? std::vector<int>{} : process_->descriptors();
}

Instant RankRun::next_deadline() const {
  // While something is being killed it is looked at again soon.
  if (killing_since_) return Instant::min();
  return std::min(watch_.next_deadline(), last_progress_ + seconds(1));
}

}  // namespace batchsweep::agent
