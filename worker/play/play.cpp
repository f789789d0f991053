// SPDX-License-Identifier: Apache-2.0
#include "worker/play/play.hpp"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "worker/play/fault.hpp"

namespace batchsweep::play {
namespace {

using protocol::Evidence;
using protocol::EvidenceKind;
using results::Phase;

void sleep_for(double s) {
  if (!(s > 0)) return;
  const double whole = std::floor(s);
  timespec time{static_cast<time_t>(whole), static_cast<long>((s - whole) * 1e9)};
  while (clock_nanosleep(CLOCK_MONOTONIC, 0, &time, &time) != 0) {
  }
}

double now_s() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

class Player {
 public:
  Player(const protocol::TrialInput& input, protocol::EventWriter& events)
      : spec_(input.spec),
        script_(*input.play),
        out_of_memory_(sweeps::played_out_of_memory(
            script_, input.device.limit_bytes ? static_cast<double>(*input.device.limit_bytes)
                                              : script_.reserved_bytes)),
        events_(events) {
    steps_.rank = input.rank;
    steps_.warmup_steps =
        std::min<std::int64_t>(spec_.warmup_steps, std::ssize(script_.step_times_s));
  }

  int run() {
    const double start_s = now_s();
    say(protocol::Hello{.software = {.program = "batchsweep-player " BATCHSWEEP_VERSION},
                        .execution = "played"});
    begin(Phase::kSetup);
    spend(script_.setup_s);
    measured_.setup_s = now_s() - start_s;
    begin(steps_.warmup_steps > 0 ? Phase::kWarmup : Phase::kTimed);
    for (std::size_t step = 1; step <= script_.step_times_s.size(); ++step) {
      if (steps_.warmup_steps > 0 && std::cmp_equal(step, steps_.warmup_steps + 1))
        begin(Phase::kTimed);
      if (!take(step)) return 0;
    }
    begin(Phase::kTeardown);
    fill_result();
    events_.write(protocol::Result{measured_, steps_});
    return 0;
  }

 private:
  // Lines wait for the next sleep or for the end.
  void say(const protocol::TrialEvent& event) { events_.write_later(event); }
  void begin(Phase phase) {
    phase_ = phase;
    say(protocol::PhaseBegan{phase});
  }
  void spend(double s) {
    constexpr double kWorthAWrite = 0.5e-3;
    if (s >= kWorthAWrite) events_.flush();
    sleep_for(s);
  }

  // One step; false when the trial has ended with it.
  bool take(std::size_t step) {
    const bool faulty =
        script_.fault != sweeps::Fault::kNone && std::cmp_equal(step, script_.fault_step);
    if (out_of_memory_ && std::cmp_equal(step, out_of_memory_->step)) {
      return end_out_of_memory(*out_of_memory_), false;
    }
    if (faulty) {
      events_.flush();
      commit(script_, events_.fd());
    }
    const double time_s = script_.step_times_s[step - 1];
    spend(time_s);
    if (faulty && script_.fault == sweeps::Fault::kNanLoss) return end_diverged(step), false;
    steps_.time_s.push_back(time_s);
    steps_.loss.push_back(sweeps::played_loss(static_cast<std::int64_t>(step)));
    say(protocol::StepDone{static_cast<std::int64_t>(step), time_s, steps_.loss.back()});
    return true;
  }

  void end_out_of_memory(const sweeps::PlayedOutOfMemory& played) {
    Evidence evidence{.kind = EvidenceKind::kDeviceOutOfMemory, .phase = phase_};
    evidence.message =
        fmt::format("played: {:.0f} bytes asked for, {:.0f} allocated, the limit is {:.0f}",
                    played.requested_bytes, played.allocated_bytes, played.limit_bytes);
    evidence.step = played.step;
    evidence.oom_requested_bytes = played.requested_bytes;
    evidence.oom_allocated_bytes = played.allocated_bytes;
    evidence.oom_reserved_bytes = played.reserved_bytes;
    evidence.oom_limit_bytes = played.limit_bytes;
    measured_.peak_allocated_bytes = played.allocated_bytes;
    measured_.peak_reserved_bytes = played.reserved_bytes;
    events_.write(protocol::Ending{evidence, measured_, steps_});
  }

  void end_diverged(std::size_t step) {
    steps_.time_s.push_back(script_.step_times_s[step - 1]);
    steps_.loss.push_back(std::numeric_limits<double>::quiet_NaN());
    Evidence evidence{.kind = EvidenceKind::kDiverged, .phase = phase_};
    evidence.message = fmt::format("the loss of step {} is not finite", step);
    evidence.step = static_cast<std::int64_t>(step);
    fill_memory();
    events_.write(protocol::Ending{evidence, measured_, steps_});
  }

  void fill_memory() {
    measured_.peak_allocated_bytes = measured_.steady_peak_allocated_bytes =
        script_.allocated_bytes;
    measured_.peak_reserved_bytes = measured_.steady_peak_reserved_bytes = script_.reserved_bytes;
  }

  void fill_result() {
    fill_memory();
    const auto timed = steps_.time_s.begin() + static_cast<std::ptrdiff_t>(steps_.warmup_steps);
    const double timed_steps = static_cast<double>(steps_.time_s.end() - timed);
    measured_.window_s = std::accumulate(timed, steps_.time_s.end(), 0.0);
    measured_.applied_steps = static_cast<double>(steps_.time_s.size());
    measured_.skipped_steps = 0;
    measured_.samples =
        timed_steps * static_cast<double>(spec_.batch_size * spec_.gradient_accumulation_steps);
    if (!steps_.loss.empty()) {
      measured_.loss_first = steps_.loss.front();
      measured_.loss_last = steps_.loss.back();
    }
    if (events_.dropped() > 0) measured_.events_dropped = static_cast<double>(events_.dropped());
  }

  const sweeps::TrialSpec& spec_;
  const sweeps::PlayScript& script_;
  std::optional<sweeps::PlayedOutOfMemory> out_of_memory_;
  protocol::EventWriter& events_;
  Phase phase_ = Phase::kSetup;
  results::RankRecord measured_;
  results::StepTimes steps_;
};

}  // namespace

int play(const protocol::TrialInput& input, protocol::EventWriter& events) {
  return Player(input, events).run();
}

}  // namespace batchsweep::play
