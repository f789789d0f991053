// SPDX-License-Identifier: Apache-2.0
#include "worker/train/trial.hpp"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <algorithm>
#include <new>

#include "base/units.hpp"
#include "sweeps/trial_defaults.hpp"
#include "worker/train/attention.hpp"
#include "worker/train/data/data_source.hpp"
#include "worker/train/data_parallel.hpp"
#include "worker/train/device.hpp"
#include "worker/train/models/registry.hpp"
#include "worker/train/optimizer_step.hpp"
#include "worker/train/precision_policy.hpp"
#include "worker/train/process_clock.hpp"
#include "worker/train/rank_group.hpp"
#include "worker/train/software.hpp"
#include "worker/train/training_loop.hpp"
#include "worker/train/trial_errors.hpp"
#include "worker/train/trial_report.hpp"
#include "worker/train/weights.hpp"

namespace batchsweep::train {
namespace {

using protocol::Evidence;
using protocol::EvidenceKind;
using results::Reason;

// What a sweep may name and this program does not do yet. Better no trial than one that is not what
// its row says.
void refuse_what_is_missing(const protocol::TrialInput& input) {
  if (input.play)
    throw TrialFailed("this program trains: batchsweep-player is the one that plays a rehearsal");
}

RendezvousBy rendezvous_by(TrialReport& report, std::istream& more_input) {
  return {.tell = [&report](const protocol::Rendezvous& at) { report.tell(at); },
          .ask =
              [&more_input] {
                std::string line;
                if (!std::getline(more_input, line))
                  throw TrialFailed("standard input ended before the address of rank 0 came");
                return protocol::read_rendezvous_line(line);
              }};
}

// Libraries take all cores of the host for each process, where nobody tells them another number.
void share_cores(const protocol::TrialInput& input) {
  if (input.device.kind != sweeps::DeviceKind::kCuda || input.local_world_size == 1) return;
  const auto ranks = static_cast<int>(input.local_world_size);
  at::set_num_threads(std::max(1, at::get_num_threads() / ranks));
}

protocol::Hello hello_of(const std::string& program, const PrecisionPolicy& precision) {
  protocol::Hello hello;
  hello.software = software_of(program, precision.switches());
  hello.precision_native = precision.native();
  return hello;
}

// Of a trial that ends before its precision is set.
protocol::Hello early_hello(const std::string& program) {
  protocol::Hello hello;
  hello.software = software_of(program, "");
  return hello;
}

void set_up_and_train(const protocol::TrialInput& input, const std::string& program, Device& device,
                      RankGroup& ranks, const RendezvousBy& rendezvous, TrialReport& report) {
  const sweeps::TrialSpec spec = sweeps::with_defaults(input.spec);
  const PrecisionPolicy precision(spec.precision, device);
  choose_attention(spec.attention, device.where());
  at::globalContext().setBenchmarkCuDNN(spec.cudnn_benchmark);  // means nothing on a CPU
  report.hello(hello_of(program, precision));
  report.begin(results::Phase::kSetup);
  share_cores(input);
  ranks.join(input, device.where(), rendezvous);

  at::manual_seed(input.seed);
  const auto model = build_model(spec, device.where());
  if (!spec.model_weights.empty()) {
    load_weights(model->parameters(), spec.model_weights,
                 spec.partial_weights ? Missing::kAllowed : Missing::kRefused);
  }
  const auto data = open_data({.spec = spec,
                               .seed = input.seed,
                               .rank = input.rank,
                               .ranks_on_host = input.local_world_size,
                               .device = device.where(),
                               .type = model->parameters().options().type,
                               .format = model->parameters().options().channels_last
                                             ? at::MemoryFormat::ChannelsLast
                                             : at::MemoryFormat::Contiguous});
  DataParallel data_parallel(ranks, model->parameters());
  OptimizerStep step(spec, precision, *model, &data_parallel);
  // The weights are the same on all ranks, what dropout drops is not.
  if (input.rank > 0)
    at::manual_seed(mixed_seed(input.seed, static_cast<std::uint64_t>(input.rank)));
  report.measured.num_parameters = static_cast<double>(model->parameters().count());
  report.measured.setup_s = seconds_since_process_start();

  train({.warmup_steps = spec.warmup_steps,
         .timed_steps = spec.timed_steps,
         .min_time_s = spec.min_time_s},
        {.device = device,
         .ranks = ranks,
         .data_parallel = data_parallel,
         .data = *data,
         .step = step},
        report);
  report.begin(results::Phase::kTeardown);
  ranks.leave();
}

Evidence memory_evidence(const OutOfMemory& refusal) {
  Evidence evidence;
  evidence.kind =
      refusal.by_host ? EvidenceKind::kHostOutOfMemory : EvidenceKind::kDeviceOutOfMemory;
  evidence.oom_requested_bytes = static_cast<double>(refusal.requested_bytes);
  evidence.oom_allocated_bytes = static_cast<double>(refusal.allocated_bytes);
  evidence.oom_reserved_bytes = static_cast<double>(refusal.reserved_bytes);
  if (refusal.limit_bytes) evidence.oom_limit_bytes = static_cast<double>(*refusal.limit_bytes);
  evidence.message = fmt::format(
      "asked for {} with {} allocated and {} reserved, {}",
      format_bytes(*evidence.oom_requested_bytes), format_bytes(*evidence.oom_allocated_bytes),
      format_bytes(*evidence.oom_reserved_bytes),
      refusal.by_host
          ? "and the host has no more"
          : "limit " +
                (evidence.oom_limit_bytes ? format_bytes(*evidence.oom_limit_bytes) : "unknown"));
  return evidence;
}

Evidence evidence(EvidenceKind kind, Reason reason, const std::string& message) {
  Evidence made;
  made.kind = kind;
  made.reason = reason;
  made.message = message;
  return made;
}

}  // namespace

void run_trial(const protocol::TrialInput& input, const std::string& program,
               protocol::EventWriter& writer, std::istream& more_input) {
  TrialReport report(writer);
  std::unique_ptr<Device> device;
  RankGroup ranks;  // outlives the ending
  const auto end = [&](const Evidence& how) {
    if (!report.said_hello()) report.hello(early_hello(program));
    if (device) report.add_peaks(device->take_peaks());
    report.end(how);
  };
  const auto failed = [&](const std::exception& error, const std::string& message) {
    // Memory decides before the exception's type: code between the allocator and here may have
    // wrapped it.
    if (const auto refusal = device ? device->out_of_memory() : std::nullopt)
      return end(memory_evidence(*refusal));
    if (is_lost_peer(error))
      return end(evidence(EvidenceKind::kLostPeer, Reason::kException,
                          "the connection to another rank is lost: " + message));
    end(evidence(EvidenceKind::kFailed, Reason::kException, message));
  };
  report.measured.cpu_threads = static_cast<double>(input.device.threads);
  try {
    refuse_what_is_missing(input);
    device = open_device(input.device);
    set_up_and_train(input, program, *device, ranks, rendezvous_by(report, more_input), report);
    report.complete();
  } catch (const Unsupported& error) {
    end(evidence(EvidenceKind::kSkipped, Reason::kUnsupported, error.what()));
  } catch (const LaunchFault& error) {
    end(evidence(EvidenceKind::kFailed, Reason::kLaunch, error.what()));
  } catch (const LossNotFinite& error) {
    Evidence diverged = evidence(EvidenceKind::kDiverged, Reason::kNone, error.what());
    diverged.step = error.step();
    end(diverged);
  } catch (const std::bad_alloc&) {
    end(evidence(EvidenceKind::kHostOutOfMemory, Reason::kNone,
                 "the host has no memory left for this process"));
  } catch (const c10::Error& error) {
    failed(error, error.what_without_backtrace());
  } catch (const std::exception& error) {
    failed(error, error.what());
  }
}

}  // namespace batchsweep::train
