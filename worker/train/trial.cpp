// SPDX-License-Identifier: Apache-2.0
#include "worker/train/trial.hpp"

#include <ATen/ATen.h>
#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <new>

#include "base/units.hpp"
#include "sweeps/trial_defaults.hpp"
#include "worker/train/attention.hpp"
#include "worker/train/data/data_source.hpp"
#include "worker/train/device.hpp"
#include "worker/train/models/registry.hpp"
#include "worker/train/optimizer_step.hpp"
#include "worker/train/precision_policy.hpp"
#include "worker/train/process_clock.hpp"
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
  const sweeps::TrialSpec& spec = input.spec;
  const auto refuse = [](bool asked, const std::string& what) {
    if (asked) throw TrialFailed(what + " is not available in this version");
  };
  refuse(input.play.has_value(), "playing a rehearsal (batchsweep-player does)");
  refuse(spec.world_size > 1, fmt::format("world_size {}", spec.world_size));
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
                      TrialReport& report) {
  const sweeps::TrialSpec spec = sweeps::with_defaults(input.spec);
  const PrecisionPolicy precision(spec.precision, device);
  choose_attention(spec.attention, device.where());
  at::globalContext().setBenchmarkCuDNN(spec.cudnn_benchmark);  // means nothing on a CPU
  report.hello(hello_of(program, precision));
  report.begin(results::Phase::kSetup);

  at::manual_seed(input.seed);
  const auto model = build_model(spec, device.where());
  if (!spec.model_weights.empty()) {
    load_weights(model->parameters(), spec.model_weights,
                 spec.partial_weights ? Missing::kAllowed : Missing::kRefused);
  }
  const auto data = open_data({.spec = spec,
                               .seed = input.seed,
                               .device = device.where(),
                               .type = model->parameters().options().type,
                               .format = model->parameters().options().channels_last
                                             ? at::MemoryFormat::ChannelsLast
                                             : at::MemoryFormat::Contiguous});
  OptimizerStep step(spec, precision, *model);
  report.measured.num_parameters = static_cast<double>(model->parameters().count());
  report.measured.setup_s = seconds_since_process_start();

  train({.warmup_steps = spec.warmup_steps,
         .timed_steps = spec.timed_steps,
         .min_time_s = spec.min_time_s},
        {.device = device, .data = *data, .step = step}, report);
  report.begin(results::Phase::kTeardown);
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
               protocol::EventWriter& writer) {
  TrialReport report(writer);
  std::unique_ptr<Device> device;
  const auto end = [&](const Evidence& how) {
    if (!report.said_hello()) report.hello(early_hello(program));
    if (device) report.add_peaks(device->take_peaks());
    report.end(how);
  };
  const auto failed = [&](const std::string& message) {
    // Memory decides before the exception's type: code between the allocator and here may have
    // wrapped it.
    const auto refusal = device ? device->out_of_memory() : std::nullopt;
    end(refusal ? memory_evidence(*refusal)
                : evidence(EvidenceKind::kFailed, Reason::kException, message));
  };
  report.measured.cpu_threads = static_cast<double>(input.device.threads);
  try {
    refuse_what_is_missing(input);
    device = open_device(input.device);
    set_up_and_train(input, program, *device, report);
    report.complete();
  } catch (const Unsupported& error) {
    end(evidence(EvidenceKind::kSkipped, Reason::kUnsupported, error.what()));
  } catch (const LossNotFinite& error) {
    Evidence diverged = evidence(EvidenceKind::kDiverged, Reason::kNone, error.what());
    diverged.step = error.step();
    end(diverged);
  } catch (const std::bad_alloc&) {
    end(evidence(EvidenceKind::kHostOutOfMemory, Reason::kNone,
                 "the host has no memory left for this process"));
  } catch (const c10::Error& error) {
    failed(error.what_without_backtrace());
  } catch (const std::exception& error) {
    failed(error.what());
  }
}

}  // namespace batchsweep::train
