// SPDX-License-Identifier: Apache-2.0
// What one rank's process has said and how it ended, judged: its events in order, its limits, its
// evidence. Pure: lines, exit status and time come in; knows no process, no clock and no message.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "sweeps/trial_spec.hpp"
#include "worker/agent/launcher.hpp"
#include "worker/protocol/trial_events.hpp"

namespace batchsweep::agent {

class TrialWatch {
 public:
  TrialWatch(sweeps::TrialLimits limits, Instant launched)
      : limits_(limits), launched_(launched), last_sign_(launched) {}

  // One line that the process said. A line that is no event, or not the one that may come now, is a
  // breach of the protocol.
  void on_line(std::string_view line, Instant now);
  // Why the process must be killed now; nullopt while all is well. Stays once given.
  [[nodiscard]] const std::optional<protocol::Evidence>& fault(Instant now);
  // When to ask next, at the latest.
  [[nodiscard]] Instant next_deadline() const;
  // Somebody wants it killed: evidence `killed`, unless its own account of a failure is already
  // there.
  void kill_requested(std::string_view why);

  // The verdict, once it is gone. `partial_line`: what stood behind the last newline. `shm_bytes`:
  // size of /dev/shm here.
  [[nodiscard]] protocol::Evidence evidence(const ExitStatus& status, std::string_view partial_line,
                                            std::optional<double> shm_bytes) const;

  [[nodiscard]] results::Phase phase() const { return phase_; }
  [[nodiscard]] std::int64_t finished_steps() const { return finished_steps_; }
  [[nodiscard]] const std::optional<protocol::Hello>& hello() const { return hello_; }
  [[nodiscard]] const std::optional<protocol::Rendezvous>& rendezvous() const {
    return rendezvous_;
  }
  [[nodiscard]] const results::RankRecord& measured() const { return measured_; }
  // As the ending reported them, else those of the step events.
  [[nodiscard]] results::StepTimes steps() const;

 private:
  void accept(const protocol::Hello& hello);
  void accept(const protocol::PhaseBegan& began);
  void accept(const protocol::Rendezvous& rendezvous);
  void accept(const protocol::StepDone& done);
  void accept(const protocol::Result& result);
  void accept(const protocol::Ending& ending);
  void breach(std::string message);
  [[nodiscard]] protocol::Evidence here(protocol::EvidenceKind kind, results::Reason reason,
                                        std::string message) const;
  [[nodiscard]] protocol::Evidence died(const ExitStatus& status, std::string_view partial_line,
                                        std::optional<double> shm_bytes) const;
  [[nodiscard]] double stall_limit_s() const;

  sweeps::TrialLimits limits_;
  Instant launched_,
      last_sign_;  // last_sign_: of the last finished step, or of the phase that began since
  results::Phase phase_ = results::Phase::kLaunch;
  std::int64_t finished_steps_ = 0;
  results::StepTimes seen_;
  std::optional<protocol::Hello> hello_;
  std::optional<protocol::Rendezvous> rendezvous_;
  bool has_result_ = false;
  std::optional<protocol::Evidence> ending_;  // by its own account
  std::optional<protocol::Evidence> fault_;
  std::optional<protocol::Evidence> killed_;
  results::RankRecord measured_;
  results::StepTimes reported_;
};

}  // namespace batchsweep::agent
