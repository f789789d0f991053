// SPDX-License-Identifier: Apache-2.0
#include "worker/agent/trial_watch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstring>

#include "base/error.hpp"
#include "base/units.hpp"

namespace batchsweep::agent {
namespace {

using protocol::Evidence;
using protocol::EvidenceKind;
using results::Phase;
using results::Reason;

std::string shortened(std::string_view text) {
  constexpr std::size_t kMost = 160;
  return fmt::format("'{}{}'", text.substr(0, kMost), text.size() > kMost ? "..." : "");
}

// Limits may be longer than the clock's range.
Instant later(Instant time, double s) {
  constexpr double kLongest = 1e9;
  return time + seconds(std::min(s, kLongest));
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

}  // namespace

Evidence TrialWatch::here(EvidenceKind kind, Reason reason, std::string message) const {
  Evidence evidence{.kind = kind, .reason = reason, .phase = phase_, .message = std::move(message)};
  if (finished_steps_ > 0) evidence.step = finished_steps_;
  return evidence;
}

void TrialWatch::breach(std::string message) {
  if (!fault_) fault_ = here(EvidenceKind::kFailed, Reason::kProtocol, std::move(message));
}

void TrialWatch::on_line(std::string_view line, Instant now) {
  if (fault_) return;
  try {
    const protocol::TrialEvent event = protocol::decode_line(line);
    if (!hello_ && !std::holds_alternative<protocol::Hello>(event)) {
      return breach(
          fmt::format("the trial program did not say hello first but {}", shortened(line)));
    }
    if (has_result_ || ending_)
      return breach(fmt::format("an event after the ending: {}", shortened(line)));
    std::visit([this](const auto& e) { accept(e); }, event);
    last_sign_ = now;
  } catch (const ProtocolError& error) {
    breach(error.what());
  }
}

void TrialWatch::accept(const protocol::Hello& hello) {
  if (hello_) return breach("the trial program said hello twice");
  if (hello.protocol != protocol::Hello{}.protocol) {
    return breach(
        fmt::format("the trial program speaks trial protocol {}, this batchsweep speaks {}: "
                    "rebuild it against this version",
                    hello.protocol, protocol::Hello{}.protocol));
  }
  hello_ = hello;
  phase_ = Phase::kSetup;
}

void TrialWatch::accept(const protocol::PhaseBegan& began) {
  if (began.phase < phase_) {
    return breach(
        fmt::format("phase {} began after phase {}", to_text(began.phase), to_text(phase_)));
  }
  phase_ = began.phase;
}

void TrialWatch::accept(const protocol::Rendezvous& rendezvous) {
  if (rendezvous_) return breach("the trial program opened a second rendezvous");
  rendezvous_ = rendezvous;
}

void TrialWatch::accept(const protocol::StepDone& done) {
  // Numbers may jump: lines are dropped when the pipe is full.
  if (done.step <= finished_steps_) {
    return breach(fmt::format("step {} was reported after step {}", done.step, finished_steps_));
  }
  finished_steps_ = done.step;
  seen_.time_s.push_back(done.time_s);
  if (phase_ == Phase::kWarmup) ++seen_.warmup_steps;
}

void TrialWatch::accept(const protocol::Result& result) {
  has_result_ = true;
  measured_ = result.measured;
  reported_ = result.steps;
}

void TrialWatch::accept(const protocol::Ending& ending) {
  ending_ = ending.evidence;
  measured_ = ending.measured;
  reported_ = ending.steps;
}

results::StepTimes TrialWatch::steps() const {
  return reported_.time_s.empty() ? seen_ : reported_;
}

// A model whose steps take long is not stalled because the key was made for short ones.
double TrialWatch::stall_limit_s() const {
  constexpr double kMedians = 20;
  return std::max(limits_.stall_s, kMedians * median(seen_.time_s));
}

const std::optional<Evidence>& TrialWatch::fault(Instant now) {
  if (fault_ || killed_) return fault_;
  const double age_s = to_seconds(now - launched_), silent_s = to_seconds(now - last_sign_);
  if (age_s >= limits_.time_s) {
    fault_ = here(EvidenceKind::kTimedOut, Reason::kTimeLimit,
                  fmt::format("still in phase {} when time_limit = {} was over", to_text(phase_),
                              format_seconds(limits_.time_s)));
  } else if (finished_steps_ == 0 && !has_result_ && age_s >= limits_.setup_s) {
    fault_ = here(EvidenceKind::kTimedOut, Reason::kSetupLimit,
                  fmt::format("no step was finished within setup_limit = {}",
                              format_seconds(limits_.setup_s)));
  } else if (finished_steps_ > 0 && silent_s >= limits_.stall_s && silent_s >= stall_limit_s()) {
    fault_ =
        here(EvidenceKind::kTimedOut, Reason::kStall,
             fmt::format(
                 "nothing happened for {} after step {} (stall_limit, or 20 times the median step)",
                 format_seconds(stall_limit_s()), finished_steps_));
  }
  return fault_;
}

Instant TrialWatch::next_deadline() const {
  Instant deadline = later(launched_, limits_.time_s);
  if (finished_steps_ == 0) {
    deadline = std::min(deadline, later(launched_, limits_.setup_s));
  } else {
    deadline = std::min(deadline, later(last_sign_, stall_limit_s()));
  }
  return deadline;
}

void TrialWatch::kill_requested(std::string_view why) {
  if (!killed_) killed_ = here(EvidenceKind::kKilled, Reason::kStopped, std::string(why));
}

Evidence TrialWatch::evidence(const ExitStatus& status, std::string_view partial_line,
                              std::optional<double> shm_bytes) const {
  const auto with_status = [&](Evidence evidence) {
    if (status.exit_code) evidence.exit_code = *status.exit_code;
    if (status.signal) evidence.signal = *status.signal;
    return evidence;
  };
  if (fault_ && fault_->reason == Reason::kProtocol) return *fault_;
  if (ending_) return *ending_;  // also when it had to be killed because it did not leave
  if (fault_) return *fault_;
  if (has_result_ && partial_line.empty() && status.exit_code == 0) {
    return with_status(here(EvidenceKind::kCompleted, Reason::kNone, ""));
  }
  // Asked to go and gone by SIGKILL; had it died of anything else before, that would tell more.
  if (killed_ && (status.signal == SIGKILL || status.exit_code == 0)) return *killed_;
  return with_status(died(status, partial_line, shm_bytes));
}

Evidence TrialWatch::died(const ExitStatus& status, std::string_view partial_line,
                          std::optional<double> shm_bytes) const {
  const std::string when = finished_steps_ > 0 ? fmt::format("in phase {}, after step {}",
                                                             to_text(phase_), finished_steps_)
                                               : fmt::format("in phase {}", to_text(phase_));
  if (status.kernel_oom) {
    return here(
        EvidenceKind::kHostOutOfMemory, Reason::kSignal,
        fmt::format("the kernel's out-of-memory killer took it {}: the host's memory was used up",
                    when));
  }
  std::string half;
  if (!partial_line.empty())
    half = fmt::format(", in the middle of the event line {}", shortened(partial_line));
  if (status.signal) {
    const int number = *status.signal;
    const char* name = sigabbrev_np(number);
    std::string message = fmt::format("died by signal {} (SIG{}) {}{}", number,
                                      name == nullptr ? "?" : name, when, half);
    if (number == SIGBUS) {
      message += fmt::format(
          "; a bus error often means that shared memory is full: /dev/shm here holds {}",
          shm_bytes ? format_bytes(*shm_bytes) : "an unknown number of bytes");
    }
    return here(EvidenceKind::kCrashed, Reason::kSignal, std::move(message));
  }
  if (status.exit_code.value_or(0) != 0) {
    return here(EvidenceKind::kCrashed, Reason::kExitCode,
                fmt::format("ended with exit code {} {}{}", *status.exit_code, when, half));
  }
  if (!hello_) {
    return here(
        EvidenceKind::kFailed, Reason::kProtocol,
        fmt::format("ended with exit code 0 without one event{}: is it a program that speaks "
                    "the trial protocol (docs/trial_protocol.md)?",
                    half));
  }
  return here(EvidenceKind::kCrashed, Reason::kNoResult,
              fmt::format("ended with exit code 0 {} but without a result{}", when, half));
}

}  // namespace batchsweep::agent
