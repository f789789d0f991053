// SPDX-License-Identifier: Apache-2.0
#include "orchestrator/simulate/played_rank.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <limits>

#include "base/units.hpp"

namespace batchsweep::orchestrator {
namespace {

using protocol::Evidence;
using protocol::EvidenceKind;
using results::Phase;
using results::Reason;
using sweeps::Fault;

constexpr double kStallMedians =
    20;  // a model with long steps is not stalled because the key was made for short ones
constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

// Goes through the script step by step, as time does.
class Walk {
 public:
  explicit Walk(const RankToPlay& rank) : rank_(rank), time_s_(rank.script.setup_s) {}

  // Finishes the steps before `step`; false: a limit came first, see limit().
  bool reach(std::int64_t step) {
    const auto& times = rank_.script.step_times_s;
    while (finished_ < std::min<std::int64_t>(step - 1, std::ssize(times))) {
      if (!pass(times[static_cast<std::size_t>(finished_)])) return false;
      ++finished_;
    }
    return true;
  }

  // Nothing more happens: which limit ends it, and when.
  void hang() { (void)pass(std::numeric_limits<double>::infinity()); }

  [[nodiscard]] double time_s() const { return time_s_; }
  [[nodiscard]] std::int64_t finished() const { return finished_; }
  [[nodiscard]] const Evidence& limit() const { return limit_; }
  [[nodiscard]] Phase phase() const {
    if (finished_ >= std::ssize(rank_.script.step_times_s)) return Phase::kTeardown;
    return finished_ < rank_.spec.warmup_steps ? Phase::kWarmup : Phase::kTimed;
  }
  [[nodiscard]] Evidence here(EvidenceKind kind, Reason reason, std::string message) const {
    Evidence evidence{
        .kind = kind, .reason = reason, .phase = phase(), .message = std::move(message)};
    if (finished_ > 0) evidence.step = finished_;
    return evidence;
  }

 private:
  bool pass(double duration_s) {
    const sweeps::TrialLimits& limits = rank_.limits;
    const double quiet_until = finished_ == 0 ? limits.setup_s : time_s_ + stall_limit_s();
    const double until = std::min(limits.time_s, quiet_until);
    if (time_s_ + duration_s <= until) {
      time_s_ += duration_s;
      return true;
    }
    time_s_ = until;
    if (limits.time_s <= quiet_until) {
      limit_ = here(EvidenceKind::kTimedOut, Reason::kTimeLimit,
                    fmt::format("still in phase {} when time_limit = {} was over", to_text(phase()),
                                format_seconds(limits.time_s)));
    } else if (finished_ == 0) {
      limit_ = here(EvidenceKind::kTimedOut, Reason::kSetupLimit,
                    fmt::format("no step was finished within setup_limit = {}",
                                format_seconds(limits.setup_s)));
    } else {
      limit_ = here(EvidenceKind::kTimedOut, Reason::kStall,
                    fmt::format("nothing happened for {} after step {}",
                                format_seconds(stall_limit_s()), finished_));
    }
    return false;
  }

  [[nodiscard]] double stall_limit_s() const {
    const auto& times = rank_.script.step_times_s;
    // The median is needed only where a step could be long enough for it to matter.
    const double longest = times.empty() ? 0 : *std::ranges::max_element(times);
    if (kStallMedians * longest <= rank_.limits.stall_s) return rank_.limits.stall_s;
    std::vector<double> seen(times.begin(), times.begin() + finished_);
    const auto middle = seen.begin() + static_cast<std::ptrdiff_t>(seen.size() / 2);
    std::ranges::nth_element(seen, middle);
    return std::max(rank_.limits.stall_s, kStallMedians * *middle);
  }

  const RankToPlay& rank_;
  double time_s_;
  std::int64_t finished_ = 0;
  Evidence limit_;
};

Evidence died_by_signal(const Walk& walk, int signal, const std::string& more = "") {
  Evidence evidence =
      walk.here(EvidenceKind::kCrashed, Reason::kSignal,
                fmt::format("died by signal {} (SIG{}) in phase {}, after step {}{}", signal,
                            sigabbrev_np(signal), to_text(walk.phase()), walk.finished(), more));
  evidence.signal = signal;
  return evidence;
}

Evidence taken_by_kernel(const Walk& walk) {
  Evidence evidence = walk.here(EvidenceKind::kHostOutOfMemory, Reason::kSignal,
                                "the kernel's out-of-memory killer took it");
  evidence.signal = SIGKILL;
  return evidence;
}

Evidence exited(const Walk& walk, int code, Reason reason, const std::string& more = "") {
  Evidence evidence = walk.here(EvidenceKind::kCrashed, reason,
                                fmt::format("ended with exit code {} in phase {}, after step {}{}",
                                            code, to_text(walk.phase()), walk.finished(), more));
  evidence.exit_code = code;
  return evidence;
}

Evidence out_of_memory(const Walk& walk, const sweeps::PlayedOutOfMemory& played) {
  Evidence evidence = walk.here(
      EvidenceKind::kDeviceOutOfMemory, Reason::kNone,
      fmt::format("out of memory: asked for {}, {} allocated, {} reserved, limit {}",
                  format_bytes(played.requested_bytes), format_bytes(played.allocated_bytes),
                  format_bytes(played.reserved_bytes), format_bytes(played.limit_bytes)));
  evidence.oom_requested_bytes = played.requested_bytes;
  evidence.oom_allocated_bytes = played.allocated_bytes;
  evidence.oom_reserved_bytes = played.reserved_bytes;
  evidence.oom_limit_bytes = played.limit_bytes;
  return evidence;
}

// The end that the fault of the script brings, once its step is reached.
Evidence end_of_fault(const RankToPlay& rank, const Walk& walk) {
  switch (rank.script.fault) {
    case Fault::kSegfault:
      return died_by_signal(walk, SIGSEGV);
    case Fault::kKill:
      return died_by_signal(walk, SIGKILL);
    case Fault::kBusError:
      return died_by_signal(walk, SIGBUS, "; a bus error often means that shared memory is full");
    case Fault::kExit:
      return exited(walk, rank.script.fault_exit_code,
                    rank.script.fault_exit_code == 0 ? Reason::kNoResult : Reason::kExitCode);
    case Fault::kHalfLine:
      return died_by_signal(walk, SIGKILL, ", in the middle of an event line");
    case Fault::kGarbage:
      return walk.here(EvidenceKind::kFailed, Reason::kProtocol,
                       "a line that is no event: 'garbage'");
    case Fault::kNanLoss:
      return walk.here(EvidenceKind::kDiverged, Reason::kNone,
                       fmt::format("the loss of step {} is not finite", walk.finished() + 1));
    case Fault::kHostOom:
      return taken_by_kernel(walk);
    case Fault::kNone:
    case Fault::kHang:
    case Fault::kStop:
    case Fault::kOom:
    case Fault::kGrandchild:
    case Fault::kKillAgent:
      break;
  }
  return walk.here(EvidenceKind::kCompleted, Reason::kNone, "");
}

void measure(const RankToPlay& rank, const Walk& walk, protocol::RankEnded& end) {
  const sweeps::TrialSpec& spec = rank.spec;
  const auto& times = rank.script.step_times_s;
  end.execution = "played";
  end.measured.setup_s = rank.script.setup_s;
  if (walk.finished() > 0) {
    end.measured.peak_allocated_bytes = end.measured.steady_peak_allocated_bytes =
        rank.script.allocated_bytes;
    end.measured.peak_reserved_bytes = end.measured.steady_peak_reserved_bytes =
        rank.script.reserved_bytes;
    end.measured.applied_steps = static_cast<double>(walk.finished());
    end.measured.skipped_steps = 0;
  }
  end.steps.warmup_steps = std::min(spec.warmup_steps, walk.finished());
  end.steps.time_s.assign(times.begin(), times.begin() + walk.finished());
  for (std::int64_t step = 1; step <= walk.finished(); ++step) {
    end.steps.loss.push_back(sweeps::played_loss(step));
  }
  if (end.evidence.kind == EvidenceKind::kDeviceOutOfMemory) {
    end.measured.peak_allocated_bytes = end.evidence.oom_allocated_bytes;
    end.measured.peak_reserved_bytes = end.evidence.oom_reserved_bytes;
  }
  if (end.evidence.kind != EvidenceKind::kCompleted) return;
  if (!end.steps.loss.empty()) {
    end.measured.loss_first = end.steps.loss.front();
    end.measured.loss_last = end.steps.loss.back();
  }
  double window = 0;
  for (std::int64_t i = spec.warmup_steps; i < walk.finished(); ++i)
    window += times[static_cast<std::size_t>(i)];
  const std::int64_t timed = std::max<std::int64_t>(walk.finished() - spec.warmup_steps, 0);
  end.measured.window_s = window;
  end.measured.samples =
      static_cast<double>(timed * spec.batch_size * spec.gradient_accumulation_steps);
}

struct NextEvent {
  std::int64_t step = kNever;
  enum class What { kEnd, kOutOfMemory, kFault, kHang, kKillAgent } what = What::kEnd;
};

NextEvent next_event(const RankToPlay& rank) {
  using What = NextEvent::What;
  std::vector<NextEvent> events = {{std::ssize(rank.script.step_times_s) + 1, What::kEnd}};
  const auto played = sweeps::played_out_of_memory(rank.script, rank.limit_bytes);
  if (played) events.push_back({played->step, What::kOutOfMemory});
  const std::int64_t fault_step = rank.script.fault_step;
  switch (rank.script.fault) {
    case Fault::kHang:
    case Fault::kStop:
      events.push_back({fault_step, What::kHang});
      break;
    case Fault::kKillAgent:
      events.push_back({fault_step, What::kKillAgent});
      break;
    case Fault::kNone:
    case Fault::kOom:
    case Fault::kGrandchild:
      break;
    case Fault::kSegfault:
    case Fault::kKill:
    case Fault::kExit:
    case Fault::kHalfLine:
    case Fault::kGarbage:
    case Fault::kNanLoss:
    case Fault::kHostOom:
    case Fault::kBusError:
      events.push_back({fault_step, What::kFault});
      break;
  }
  if (rank.peer_dies_in_step) events.push_back({*rank.peer_dies_in_step, What::kHang});
  return *std::ranges::min_element(events, {}, &NextEvent::step);
}

}  // namespace

std::optional<std::int64_t> dies_in_step(const sweeps::PlayScript& script, double limit_bytes) {
  const sweeps::TrialSpec spec;
  const sweeps::TrialLimits limits;
  const NextEvent event = next_event({.script = script,
                                      .spec = spec,
                                      .limits = limits,
                                      .limit_bytes = limit_bytes,
                                      .peer_dies_in_step = {}});
  switch (event.what) {
    case NextEvent::What::kOutOfMemory:
    case NextEvent::What::kFault:
      return event.step;
    case NextEvent::What::kEnd:
    case NextEvent::What::kHang:
    case NextEvent::What::kKillAgent:
      return std::nullopt;
  }
  return std::nullopt;
}

PlayedRank play_rank(const RankToPlay& rank) {
  Walk walk(rank);
  const NextEvent event = next_event(rank);
  PlayedRank played;
  if (!walk.reach(event.step)) {
    played.end.evidence = walk.limit();
  } else {
    switch (event.what) {
      case NextEvent::What::kOutOfMemory:
        played.end.evidence =
            out_of_memory(walk, *sweeps::played_out_of_memory(rank.script, rank.limit_bytes));
        break;
      case NextEvent::What::kHang:
        walk.hang();
        played.end.evidence = walk.limit();
        break;
      case NextEvent::What::kKillAgent:
        played.kills_agent = true;
        break;
      case NextEvent::What::kFault:
        played.end.evidence = end_of_fault(rank, walk);
        break;
      case NextEvent::What::kEnd:
        played.end.evidence = walk.here(EvidenceKind::kCompleted, Reason::kNone, "");
        played.end.evidence.exit_code = 0;
        break;
    }
  }
  played.ends_after_s = walk.time_s();
  measure(rank, walk, played.end);
  return played;
}

}  // namespace batchsweep::orchestrator
